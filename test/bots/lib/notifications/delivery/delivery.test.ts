import '../../../config.ts';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Bundle, Communication } from '@medplum/fhirtypes';
import { sendWebsocketMessage } from '../../../../../bots/lib/notifications/delivery/delivery.ts';
import { backport } from '../../../../../core/fhir/backport.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { notificationIn } from '../../../../../core/notifications/delivery/message.ts';
import type { Outbox } from '../../../../../core/notifications/delivery/outbox.ts';
import type { Reply } from '../../../../contract/notifications/listener.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { addEvents, anAppointment, changeOutbox, changeSubscription, channelTo, eventAbout } from '../outboxes.ts';
import { withDeliveries } from './deliveries.ts';

const medplum = withMedplum();
const { endpoint, request, withEvents, deliver, state, numbers } = withDeliveries(medplum);

const full = { _payload: { extension: [{ url: backport.payloadContent, valueCode: 'full-resource' }] } };

/** An endpoint that does something when the first notification arrives, and answers each of them so much later. */
const afterFirst = (act: () => Promise<unknown>, milliseconds = 0): Reply => {
  let acted: Promise<unknown> | undefined;
  return async (response) => {
    acted ??= act();
    await acted;
    await setTimeout(milliseconds);
    response.end();
  };
};

describe('events', () => {
  it('come with the version that they are about, if that is wanted', async () => {
    const subscribed = await request({
      outbox: { events: 1 },
      changes: { channel: channelTo(endpoint().url, { ...full, header: ['X-Clinic: north'] }) },
    });
    const old = await anAppointment(medplum());
    await medplum().change(old, { status: 'arrived' });
    await addEvents(medplum(), subscribed, eventAbout(old, 1));
    await deliver(subscribed);
    const [{ headers, bundle } = { headers: {}, bundle: undefined }] = endpoint().received;
    expect(headers).toMatchObject({ 'x-clinic': 'north', 'content-type': 'application/fhir+json' });
    expect(bundle?.entry?.[1]?.resource).toMatchObject({ id: old.id, status: 'booked' });
  });

  it('say nothing of appointments that the subscriber may not read', async () => {
    const criteria = (name: string) => `Appointment?_tag=${requestorTag(name, config).system}|${name}`;
    const subscribed = await request({
      outbox: { events: 2 },
      row: { readable: [criteria('somebody'), criteria(portal)] },
      changes: { channel: channelTo(endpoint().url, full) },
    });
    const [own, other] = [await anAppointment(medplum()), await anAppointment(medplum(), { meta: {} })];
    await addEvents(medplum(), subscribed, eventAbout(other, 1), eventAbout(own, 2));
    await deliver(subscribed);
    expect(endpoint().received.map(({ bundle }) => bundle.entry?.[1]?.resource?.id)).toEqual([undefined, own.id]);
    expect(numbers()).toEqual(['1', '2']);
  });

  it('are not sent by a delivery from which another one has taken them over', async () => {
    const subscribed = await withEvents(30);
    const lease = { id: 'of another', until: Date.now() + 60_000 };
    endpoint().reply = afterFirst(async () => {
      await changeOutbox(medplum(), subscribed, {}, { lease });
      await setTimeout(1_500);
    });
    await deliver(subscribed);
    expect(numbers().length).toBeLessThan(30);
    expect(await state(subscribed)).toMatchObject({ outboxes: { lease }, outbox: { delivered: 0 } });
  });

  it('that come meanwhile start another delivery', async () => {
    const subscribed = await withEvents(1);
    const next = await anAppointment(medplum());
    endpoint().reply = afterFirst(async () => {
      await addEvents(medplum(), subscribed, eventAbout(next, 2));
      await changeOutbox(medplum(), subscribed, { events: 2 });
    });
    await deliver(subscribed);
    const { task, outbox } = await state(subscribed);
    expect([task.status, outbox.delivered]).toEqual(['ready', 1]);
    await deliver(subscribed);
    expect(numbers()).toEqual(['1', '2']);
    expect((await state(subscribed)).outbox).toMatchObject({ status: 'accepted', events: 2, delivered: 2 });
  });

  it.each<['off' | 'error', Partial<Outbox>]>([
    ['off', { status: 'cancelled' }],
    ['error', { status: 'failed', error: 'The Subscription is in error.' }],
  ])('are not sent once the Subscription is %s', async (status, outbox) => {
    const subscribed = await withEvents(8);
    endpoint().reply = afterFirst(async () => {
      await changeSubscription(medplum(), subscribed, { status });
      await changeOutbox(medplum(), subscribed, { sent: 0 });
    }, 400);
    await deliver(subscribed);
    const count = numbers().length;
    expect(count).toBeLessThan(8);
    const after = await state(subscribed);
    expect(after.subscription.status).toBe(status);
    expect(after.outbox).toMatchObject({ ...outbox, delivered: count });
  });

  it.each<[string, number[]]>([
    ['the next one', [2, 3]],
    ['one after the next', [1, 3]],
    ['all', []],
  ])('are sent without those that are no longer kept: %s', async (_, kept) => {
    const subscribed = await request({ outbox: { events: 3, attempts: 5, error: 'It failed.' } });
    const appointment = await anAppointment(medplum());
    await addEvents(medplum(), subscribed, ...kept.map((number) => eventAbout(appointment, number)));
    await deliver(subscribed);
    expect(numbers()).toEqual(kept.map(String));
    const expected = { status: 'accepted', delivered: 3, attempts: 0, error: undefined };
    expect((await state(subscribed)).outbox).toMatchObject(expected);
  });
});

it('each notification over a websocket is a version of its one message, which the owner of the Subscription may read', async () => {
  const sent = ['one', 'two'].map((id): Bundle => ({ resourceType: 'Bundle', type: 'history', id }));
  const found: Communication[][] = [];
  for (const bundle of sent) {
    expect(await sendWebsocketMessage(medplum().medplum, 's1', portal, bundle)).toBeUndefined();
    found.push(await medplum().find<Communication>('Communication?part-of=Subscription/s1'));
  }
  expect(found.map((messages) => messages.map(notificationIn))).toEqual(sent.map((bundle) => [bundle]));
  expect(found[0]?.[0]).toMatchObject({ id: found[1]?.[0]?.id, meta: { tag: [requestorTag(portal, config)] } });
});
