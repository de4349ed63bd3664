import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { recordEvents } from '../../../../../bots/lib/notifications/events/event-writer.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { ahead, nextMoment } from '../../../clock.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, conflict, eventCounts, forgetOutboxes, rewrite, subscribe, writes } from './fixtures.ts';

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

it('of a subscriber with many Subscriptions all are told by one event and one row', async () => {
  const many = await several(100);
  const other = await several(2, 'other');
  const appointment = await anAppointment(medplum());
  const written: string[] = [];
  medplum().interfere((asked) => {
    written.push(...(writes(asked) ? asked.entries : []));
    return undefined;
  });
  expect(await record(appointment)).toBe(true);
  expect(await counts([...many, ...other])).toEqual(Array(102).fill(1));
  expect(written.map((one) => one.split(/[/?]/)[0]).sort()).toEqual([
    'POST Communication',
    'POST Communication',
    'PUT Task',
    'PUT Task',
  ]);
});

describe('after an outage', () => {
  const catchUp = (appointment: Appointment, isTime: () => boolean) =>
    recordEvents(medplum().medplum, [appointment], 'all', isTime);

  it('what one transaction has no room for is left: 500 events of one Subscription', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 500);
    expect(await record(appointment)).toBe(false);
    expect(await counts([stored])).toEqual([500]);
    expect(await record(appointment)).toBe(true);
    expect(await counts([stored])).toEqual([501]);
  });

  it('of many Subscriptions the events have so many numbers; each gets as many as the others', async () => {
    const all = await several(40);
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 50);
    expect(await catchUp(appointment, () => false)).toBe(false);
    expect(await counts(all)).toEqual(Array(40).fill(50));
    expect(await catchUp(appointment, () => true)).toBe(true);
    expect(await counts(all)).toEqual(Array(40).fill(51));
  });

  it('they are not all if one of two Subscriptions lacks more', async () => {
    const all = [await subscribe(medplum())];
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 499);
    await nextMoment();
    all.push(await subscribe(medplum(), { outbox: { since: Date.now() - 1 } }));
    await medplum().change(appointment, { comment: 'Last' });
    expect(await record(appointment)).toBe(false);
    expect(await counts(all)).toEqual([500, 1]);
    expect(await catchUp(appointment, () => true)).toBe(true);
    expect(await counts(all)).toEqual([501, 1]);
  });

  it('they are decided upon again if others are faster, though they are not all', async () => {
    const stored = await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 500);
    let isFirst = true;
    medplum().interfere((asked) => {
      const isOvertaken = isFirst && writes(asked);
      isFirst &&= !isOvertaken;
      return isOvertaken ? conflict : undefined;
    });
    expect(await ahead({ milliseconds: 60_000 }, () => record(appointment))).toBe(false);
    expect(await counts([stored])).toEqual([500]);
  });
});
