import '../../config.ts';
import { afterEach, expect, it } from '@jest/globals';
import type { BundleEntry, Communication, Subscription, Task } from '@medplum/fhirtypes';
import { convertOutboxes } from '../../../../bots/lib/notifications/convert-outboxes.ts';
import { deliverPending } from '../../../../bots/lib/notifications/delivery/delivery.ts';
import { handler } from '../../../../bots/notifications/retry-deliveries.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { outboxesOf, outboxesSearch } from '../../../../core/notifications/delivery/outbox.ts';
import { listen } from '../../../contract/notifications/listener.ts';
import { portal, subscription } from '../../../core/notifications/support.ts';
import { asks, meanwhile } from '../../booking/fixtures.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { anAppointment, changeSubscription, channelTo, stateOf, statusIn, subscribe } from './outboxes.ts';

const medplum = withMedplum();
afterEach(() => medplum().clear(['Task', 'Subscription', 'Communication']));

const coding = (code: string) => ({ coding: [{ system: artefactUri(config, 'LocalTask'), code }] });

/** A Subscription with its outbox, as earlier versions kept it; one of its two events is not delivered yet. */
async function former(endpoint: string, owner = portal): Promise<string> {
  const meta = {
    profile: [artefactUri(config, 'LocalSubscriptionTermin')],
    tag: [requestorTag(owner, config)],
  };
  const sent = subscription({ status: 'active', channel: channelTo(endpoint), end: '2099-01-01T00:00:00Z' });
  const { id } = await medplum().create<Subscription>({ ...sent, meta });
  await medplum().create<Task>({
    resourceType: 'Task',
    status: 'received',
    intent: 'order',
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: owner },
    code: coding('notify'),
    focus: { reference: `Subscription/${id}` },
    input: [{ type: { text: 'readable' }, valueString: 'Appointment' }],
    output: [
      { type: { text: 'events' }, valueInteger: 2 },
      { type: { text: 'delivered' }, valueInteger: 1 },
      { type: { text: 'failed attempts' }, valueInteger: 0 },
      { type: { text: 'listening since' }, valueInstant: '2027-01-01T00:00:00Z' },
    ],
  });
  for (const number of [1, 2]) {
    const appointment = await anAppointment(medplum());
    const reference = `Appointment/${appointment.id}`;
    await medplum().create<Communication>({
      resourceType: 'Communication',
      identifier: [{ system: artefactUri(config, 'LocalEvent'), value: `${id}/${number}` }],
      status: number === 1 ? 'completed' : 'preparation',
      partOf: [{ reference: `Subscription/${id}` }],
      basedOn: [{ reference }],
      about: [{ reference: `${reference}/_history/${appointment.meta.versionId}` }],
      topic: { text: 'update' },
      sent: '2027-01-02T00:00:00Z',
    });
  }
  return id;
}

it('what earlier versions have left is converted, and delivered where it stood', async () => {
  const listener = await listen();
  const ids = [await former(listener.url), await former(listener.url)];
  await medplum().create<Task>({
    resourceType: 'Task',
    status: 'in-progress',
    intent: 'order',
    code: coding('subscriber'),
  });
  await convertOutboxes(medplum().medplum);
  const tasks = await medplum().find<Task>('Task?_count=1000');
  expect(tasks).toHaveLength(1);
  const [row] = await medplum().find<Task>(outboxesSearch([portal], config));
  const outboxes = row && outboxesOf(row);
  expect(outboxes?.readable).toEqual(['Appointment']);
  expect([...(outboxes?.of ?? [])].map(([id]) => id).sort()).toEqual([...ids].sort());
  expect([...(outboxes?.of.values() ?? [])]).toEqual(
    ids.map(() => expect.objectContaining({ status: 'ready', events: 2, delivered: 1, end: Date.parse('2099-01-01') })),
  );
  await deliverPending(medplum().medplum, portal);
  const told = listener.received.map(({ bundle }) => statusIn(bundle));
  expect(told.map((one) => one['notification-event'])).toMatchObject([
    { 'event-number': '2' },
    { 'event-number': '2' },
  ]);
  await listener.close();
});

it('an outbox that an earlier version still writes is converted by the next run, with what it has written', async () => {
  await former('https://8.8.8.8/');
  meanwhile(medplum(), asks(/^PUT Task/), async () => {
    const [task] = await medplum().find<Task>('Task?status=received');
    const output = [
      { type: { text: 'events' }, valueInteger: 3 },
      { type: { text: 'delivered' }, valueInteger: 1 },
    ];
    await (task && medplum().change<Task>(task, { output }));
  });
  await convertOutboxes(medplum().medplum);
  medplum().interfere(() => undefined);
  await convertOutboxes(medplum().medplum);
  const [row] = await medplum().find<Task>(outboxesSearch([portal], config));
  expect([...(row ? outboxesOf(row).of.values() : [])].map(({ events }) => events)).toEqual([3]);
});

it('what cannot be converted holds up neither another subscriber nor what is due', async () => {
  await former('https://8.8.8.8/', 'first');
  await former('https://8.8.8.8/');
  const due = await subscribe(medplum(), { owner: 'due', outbox: { status: 'on-hold', until: Date.now() - 1_000 } });
  const isFirst = ({ request, resource }: BundleEntry): boolean =>
    request?.method === 'PUT' && isResource(resource, 'Task') && resource.groupIdentifier?.value === 'first';
  medplum().interfere(({ bundle }) => (bundle?.entry?.some(isFirst) ? 'no-answer' : undefined));
  await expect(handler(medplum().medplum)).rejects.toThrow();
  const [row] = await medplum().find<Task>(outboxesSearch([portal], config));
  expect([(row && outboxesOf(row))?.of.size, (await stateOf(medplum(), due)).outbox.status]).toEqual([1, 'ready']);
});

it('what earlier versions stored as requested, with a tag, is active; what others have set since stays', async () => {
  const listener = await listen();
  const tag = [requestorTag(portal, config), { system: 'http://hl7.org/fhir/subscription-status', code: 'active' }];
  const marked = async (status: Subscription['status']) => {
    const one = await subscribe(medplum(), { changes: { channel: channelTo(listener.url) } });
    await changeSubscription(medplum(), one, { status, meta: { tag } });
    return one;
  };
  const all = [await marked('requested'), await marked('active'), await marked('error'), await marked('off')];
  await deliverPending(medplum().medplum, portal);
  expect(listener.received).toEqual([]);
  await convertOutboxes(medplum().medplum);
  const stored = await Promise.all(all.map(async (one) => (await stateOf(medplum(), one)).subscription));
  expect(stored.map(({ status, meta }) => [status, meta?.tag])).toEqual(
    ['active', 'active', 'error', 'off'].map((status) => [status, [requestorTag(portal, config)]]),
  );
  await listener.close();
});
