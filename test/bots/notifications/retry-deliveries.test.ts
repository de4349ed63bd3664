import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import { handler } from '../../../bots/notifications/retry-deliveries.ts';
import { checkpointSearch } from '../../../core/notifications/delivery/checkpoint.ts';
import { LEASE, OVERDUE } from '../../../core/notifications/delivery/delivery-state.ts';
import { backport } from '../../../core/notifications/subscription/extensions.ts';
import { portal } from '../../core/notifications/support.ts';
import { later } from '../clock.ts';
import { config } from '../config.ts';
import {
  addAppointment,
  changeSubscription,
  channelTo,
  type Given,
  removeAll,
  type Subscribed,
  stateOf,
  subscribeLongAgo,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => removeAll(medplum(), 'Task', 'Subscription', 'Communication', 'Appointment'));

const run = () => handler(medplum().medplum);
const add = (given?: Given) => subscribeLongAgo(medplum(), given);
const state = (one: Subscribed) => stateOf(medplum(), one);
const hour = 60 * 60_000;
const past = (): string => new Date(Date.now() - hour).toISOString();

const beating = () =>
  channelTo('https://portal.example.org/', {
    extension: [{ url: backport.heartbeatPeriod, valueUnsignedInt: 60 }],
  });

describe('a delivery is started', () => {
  it.each<[string, () => Given]>([
    ['whose next attempt is due', () => ({ outbox: { status: 'on-hold', until: Date.now() - 1_000 } })],
    [
      'that has died',
      () => ({ outbox: { status: 'ready' }, row: { lease: { id: 'dead', until: Date.now() - 1_000 } } }),
    ],
    ['for a heartbeat', () => ({ outbox: { sent: Date.now() - 61_000 }, changes: { channel: beating() } })],
    ['for the end of a Subscription', () => ({ changes: { end: past() } })],
    ['for a Subscription that was requested again', () => ({ status: 'requested' })],
    ['… after it had ended', () => ({ status: 'requested', outbox: { status: 'cancelled' } })],
    ['for one that was set to active after it had failed', () => ({ outbox: { status: 'failed' } })],
  ])('%s', async (_, given) => {
    const one = await add(given());
    const before = Date.now();
    await run();
    const { outbox, outboxes, task } = await state(one);
    expect([outbox.status, outboxes.lease, task.status]).toEqual(['ready', undefined, 'ready']);
    expect(outboxes.woken ?? before).toBeGreaterThanOrEqual(before);
  });

  it('that was requested and has not begun', async () => {
    const one = await add({ outbox: { status: 'ready' } });
    await later(OVERDUE + 1_000, run);
    expect((await state(one)).outboxes.woken).toBeGreaterThan(Date.now());
  });

  it.each<[string, () => Given]>([
    ['before the next attempt is due', () => ({ outbox: { status: 'on-hold', until: Date.now() + hour } })],
    [
      'while one is under way',
      () => ({ outbox: { status: 'ready' }, row: { lease: { id: 'alive', until: Date.now() + LEASE } } }),
    ],
    ['that was just requested', () => ({ outbox: { status: 'ready' }, status: 'requested' })],
    ['for nothing', () => ({})],
    ['for a Subscription in error', () => ({ outbox: { status: 'failed' }, status: 'error' })],
  ])('but not %s', async (_, given) => {
    const one = await add(given());
    await run();
    expect((await state(one)).task.status).toBe(one.task.status);
  });
});

it('what was switched off in Medplum is over, although the job of the change was lost', async () => {
  const one = await add({ outbox: { status: 'on-hold', until: Date.now() + hour } });
  await changeSubscription(medplum(), one, { status: 'off' });
  await run();
  const { subscription, outbox } = await state(one);
  expect([subscription.status, outbox.status]).toEqual(['off', 'cancelled']);
});

describe('a run', () => {
  it('does the rest of its work if a part of it fails, and then fails', async () => {
    const one = await add({ outbox: { status: 'on-hold', until: 0 } });
    await addAppointment(medplum());
    let isFirst = true;
    medplum().interfere(({ entries }) => {
      const isRefused = isFirst && entries.includes(`PUT Task/${one.task.id}`);
      isFirst &&= !isRefused;
      return isRefused ? 'no-answer' : undefined;
    });
    await expect(run()).rejects.toThrow(`The outboxes of ${portal} could not be written: lost.`);
    expect(await medplum().find('Communication')).toHaveLength(1);
    expect(await medplum().find(checkpointSearch(config))).toHaveLength(1);
  });
});
