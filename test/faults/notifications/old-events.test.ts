import { beforeAll, expect, it } from '@jest/globals';
import type { Appointment, Communication, Resource, Subscription } from '@medplum/fhirtypes';
import { outboxesOf, outboxesTask, withOutbox } from '../../../core/notifications/delivery/outbox.ts';
import type { Installation } from '../../lib/installation.ts';
import { eventually } from '../../lib/until.ts';
import { prepareInstallation } from '../installation.ts';

let installation: Installation;
let http: typeof import('../../contract/http.ts');
let fixtures: typeof import('../../contract/notifications/fixtures.ts');
let listening: typeof import('../../contract/notifications/listener.ts');

beforeAll(async () => {
  installation = await prepareInstallation({ SANDBOX_DELAY_SCALE: '0.005' }, { notifications: { keepEventsDays: 2 } });
  [http, fixtures, listening] = await Promise.all([
    import('../../contract/http.ts'),
    import('../../contract/notifications/fixtures.ts'),
    import('../../contract/notifications/listener.ts'),
  ]);
  await installation.start();
});

/** Longer than the lease of a delivery, which may still be under way when its Subscription ends. */
const AT_REST = 60_000;

const DAY = 24 * 60 * 60_000;

async function search(path: string): Promise<Resource[]> {
  const found = http.resourceIn('Bundle', await http.medplum('admin', 'GET', path));
  return (found.entry ?? []).flatMap(({ resource }) => resource ?? []);
}

const eventsAbout = ({ id }: Appointment) => search(`/Communication?based-on=Appointment/${id}&_sort=sent`);

const messagesOf = (id: string | undefined) => search(`/Communication?part-of=Subscription/${id}`);

/** Lets events have happened so many days ago, and the Subscription listen to nothing that has happened until now. */
async function age({ id }: Subscription, events: readonly Resource[], days: number): Promise<void> {
  const row = await fixtures.rowOf(id);
  if (!row) {
    throw new Error('There is no outbox.');
  }
  const { config } = await import('../../contract/installation.ts');
  const outboxes = withOutbox(outboxesOf(row.task), id ?? '', { ...row.outbox, since: Date.now() });
  const body = outboxesTask(outboxes, config, row.task);
  expect((await http.medplum('admin', 'PUT', `/Task/${row.task.id}`, { body })).status).toBe(200);
  for (const event of events) {
    const body = { ...(event as Communication), sent: new Date(Date.now() - days * DAY).toISOString() };
    expect((await http.medplum('admin', 'PUT', `/Communication/${event.id}`, { body })).status).toBe(200);
  }
}

it('old delivered events are deleted; $events names them, and numbering continues', async () => {
  const listener = await listening.listen();
  const stored = await fixtures.subscribed(listener);
  const appointment = await fixtures.aBooking('automatic');
  for (const comment of ['one', 'two', 'three']) {
    await fixtures.staffChange(appointment, { comment });
  }
  await listening.events(listener, 3);
  await fixtures.outboxTurnsTo('accepted', stored.id);
  const [first, second] = await eventsAbout(appointment);
  await age(
    stored,
    [first, second].flatMap((one) => one ?? []),
    4,
  );
  await eventually(() => eventsAbout(appointment)).is((events) => events.length === 1);

  const notified = http.resourceIn(
    'Bundle',
    await http.request('portal-a', 'GET', `/Subscription/${stored.id}/$events`),
  );
  expect(listening.numbersIn(notified)).toEqual([3]);
  expect(listening.parameterIn(notified, 'error')?.valueCodeableConcept?.text).toContain('1–2');
  const path = `/Subscription/${stored.id}/$events?eventsSinceNumber=3`;
  const recent = http.resourceIn('Bundle', await http.request('portal-a', 'GET', path));
  expect(listening.parameterIn(recent, 'error')).toBeUndefined();
  await fixtures.staffChange(appointment, { comment: 'four' });
  await listening.events(listener, 4);
  expect(listening.numbersAt(listener)).toEqual([1, 2, 3, 4]);
  await listener.close();
});

/** A Subscription to websockets that has got an event. */
async function told(): Promise<{ id: string | undefined; appointment: Appointment }> {
  const body = fixtures.toWebsocket({ content: 'full-resource' });
  const { id } = http.resourceIn('Subscription', await fixtures.submit(body));
  await fixtures.turnsTo('active', id);
  const appointment = await fixtures.confirm(await fixtures.aBooking());
  await eventually(() => eventsAbout(appointment)).is((found) => found.length === 1);
  await fixtures.outboxTurnsTo('accepted', id);
  expect(await messagesOf(id)).toHaveLength(1);
  return { id, appointment };
}

it('of a deleted Subscription no message stays, and no outbox', async () => {
  const { id } = await told();
  expect((await http.request('portal-a', 'DELETE', `/Subscription/${id}`)).status).toBe(204);
  await eventually(
    async () => [...(await messagesOf(id)), ...[await fixtures.rowOf(id)].flatMap((row) => row ?? [])],
    AT_REST,
  ).is((found) => found.length === 0);
});

it('of a Subscription that is off the message goes; its events stay until they are old, its outbox stays', async () => {
  const { id, appointment } = await told();
  const off = await eventually(async () => {
    const body = { ...(await fixtures.current(id)), status: 'off' };
    return http.request('portal-a', 'PUT', `/Subscription/${id}`, { body });
  }).is(({ status }) => status !== 412);
  expect(off.status).toBe(200);
  await eventually(() => messagesOf(id), AT_REST).is((found) => found.length === 0);
  expect(await eventsAbout(appointment)).toHaveLength(1);
  expect(await fixtures.rowOf(id)).toBeDefined();
});
