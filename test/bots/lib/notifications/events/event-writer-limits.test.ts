import '../../../config.ts';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { recordEvents, recordRemainingEvents } from '../../../../../bots/lib/notifications/events/event-writer.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { ahead, nextMoment } from '../../../clock.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  anAppointment,
  conflict,
  eventCounts,
  forgetOutboxes,
  outboxNow,
  rewrite,
  subscribe,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const record = (...appointments: readonly Appointment[]) => recordEvents(medplum().medplum, appointments);

/** Several Subscriptions of one subscriber. */
async function several(count: number, owner = portal): Promise<SubscriptionOutbox[]> {
  const all: SubscriptionOutbox[] = [];
  while (all.length < count) {
    all.push(await subscribe(medplum(), { owner }));
  }
  return all;
}

const counts = (all: readonly SubscriptionOutbox[]) => eventCounts(medplum(), all);

const statuses = (all: readonly SubscriptionOutbox[]): Promise<(string | undefined)[]> =>
  Promise.all(all.map(async (one) => (await outboxNow(medplum(), one))?.status));

describe('of a subscriber with many Subscriptions', () => {
  it('ten are told at once, those of others before; four of them start a delivery', async () => {
    const many = await several(11);
    const few = [...(await several(1, 'one')), ...(await several(1, 'two')), ...(await several(2, 'three'))];
    const appointment = await anAppointment(medplum());
    expect(await record(appointment)).toBe(false);
    expect((await counts(many)).filter((count) => count === 1)).toHaveLength(10);
    expect((await statuses(many)).sort()).toEqual([
      'accepted',
      ...Array(4).fill('ready'),
      ...Array(6).fill('received'),
    ]);
    expect(await statuses(few)).toEqual(Array(4).fill('ready'));
  });

  it('the others are told ten by ten, and each time one starts a delivery', async () => {
    const many = await several(12);
    const appointment = await anAppointment(medplum());
    const remaining = () => recordRemainingEvents(medplum().medplum, [appointment], 'concerned', () => true);
    expect(await remaining()).toBe(true);
    expect(await counts(many)).toEqual(Array(12).fill(1));
    expect((await statuses(many)).sort()).toEqual([...Array(5).fill('ready'), ...Array(7).fill('received')]);
  });
});

describe('transactions', () => {
  /** The most transactions that were under way at once. */
  function noteMost(): { most: number } {
    const noted = { most: 0 };
    let running = 0;
    medplum().interfere(async (asked) => {
      if (writes(asked)) {
        running += 1;
        await setImmediate();
        noted.most = Math.max(noted.most, running);
        running -= 1;
      }
      return undefined;
    });
    return noted;
  }

  const owners = ['one', 'two', 'three', 'four', 'five'];

  it.each([
    [1, true],
    [2, false],
  ])('that catch up end when there is no time: of %d the first is carried out', async (count, isComplete) => {
    const all = (await Promise.all(owners.slice(0, count).map((owner) => several(1, owner)))).flat();
    const appointment = await anAppointment(medplum());
    const noted = noteMost();
    const catchUp = () => recordRemainingEvents(medplum().medplum, [appointment], 'all', () => false);
    expect(await catchUp()).toBe(isComplete);
    expect(noted.most).toBe(1);
    expect((await counts(all)).filter((one) => one === 1)).toHaveLength(1);
  });
});

describe('after an outage', () => {
  it.each([
    [50, true],
    [51, false],
  ])('%d events of one Subscription are all that are missing: %p', async (count, isAll) => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, count - 1);
    expect(await record(appointment)).toBe(isAll);
    expect(await counts([stored])).toEqual([count]);
  });

  it('they are not all if one of two Subscriptions lacks more than that', async () => {
    const all = [await subscribe(medplum())];
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 49);
    await nextMoment();
    all.push(await subscribe(medplum(), { outbox: { since: Date.now() - 1 } }));
    await medplum().change(appointment, { comment: 'Last' });
    expect(await record(appointment)).toBe(false);
    expect(await counts(all)).toEqual([51, 1]);
  });

  it('they are decided upon again if others are faster, though they are not all', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 50);
    let isFirst = true;
    medplum().interfere((asked) => {
      const isOvertaken = isFirst && writes(asked);
      isFirst &&= !isOvertaken;
      return isOvertaken ? conflict : undefined;
    });
    expect(await ahead({ milliseconds: 60_000 }, () => record(appointment))).toBe(false);
    expect(await counts([stored])).toEqual([51]);
  });

  it('one transaction records 500 events, of each Subscription as many; the next ones the rest', async () => {
    const all = await several(10);
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 50);
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => false)).toBe(false);
    expect(await counts(all)).toEqual(Array(10).fill(50));
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => true)).toBe(true);
    expect(await counts(all)).toEqual(Array(10).fill(51));
  });

  it('the rest is recorded as long as there is time', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 60);
    expect(await recordRemainingEvents(medplum().medplum, [appointment], 'all', () => true)).toBe(true);
    expect(await counts([stored])).toEqual([61]);
  });
});
