import type { MedplumClient } from '@medplum/core';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { holdsSlots, statusQuery } from '../../core/booking/appointment/status.ts';
import { publishedPeriod } from '../../core/calendar/publish/offers.ts';
import { planSlots } from '../../core/calendar/publish/publish.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { type Calendars, closuresIn, publishingIn, readSlots, searchAll, servicesOf } from './read.ts';

/** What a publication of one schedule would do. */
export interface Preview {
  readonly schedule: string;
  /** Starts of the Slots that would be published, withdrawn and changed, as stored. */
  readonly published: readonly string[];
  readonly withdrawn: readonly string[];
  readonly changed: readonly string[];
  /** How many free Slots there are now. */
  readonly free: number;
  /** Why nothing is published. */
  readonly problems: readonly string[];
}

async function heldSlots(medplum: MedplumClient, slots: readonly Slot[]): Promise<Set<string>> {
  const held = new Set<string>();
  const free = slots.filter(({ status }) => status === 'free');
  for (let index = 0; index < free.length; index += 100) {
    const slot = free
      .slice(index, index + 100)
      .map(({ id }) => `Slot/${id}`)
      .join(',');
    const found: Appointment[] = await searchAll(medplum, 'Appointment', { slot, status: statusQuery(holdsSlots) });
    for (const { slot: references = [] } of found) {
      for (const { reference = '' } of references) {
        held.add(reference.replace('Slot/', ''));
      }
    }
  }
  return held;
}

/**
 * What would be published and withdrawn for a schedule, by the rules of the service and from what is stored now.
 *
 * @param calendars - with the opening hours that are to be tried
 * @param now - milliseconds since 1970 UTC
 */
export async function preview(
  medplum: MedplumClient,
  schedule: Calendars['schedules'][number],
  calendars: Calendars,
  now: number,
  config: BookingConfig,
): Promise<Preview> {
  return previewFor(medplum, schedule, await readSlots(medplum, schedule.id, now - DAY), calendars, now, config);
}

/**
 * The same, for a schedule whose Slots were read before.
 *
 * @param stored - all Slots but those that ended at least a day before `now`
 */
export async function previewFor(
  medplum: MedplumClient,
  schedule: Calendars['schedules'][number],
  stored: readonly Slot[],
  calendars: Calendars,
  now: number,
  config: BookingConfig,
): Promise<Preview> {
  const publishing = publishingIn(schedule, calendars, config);
  const { horizonWeeks } = config.calendar;
  const ends = (publishing.kind === 'on' ? publishing.calendars : []).map(
    ({ parameters }) => publishedPeriod(schedule, parameters.timeZone, now, horizonWeeks).value?.end ?? now,
  );
  const slots = stored.filter(({ end }) => Date.parse(end) > now - DAY);
  const last = slots.map(({ end }) => Date.parse(end)).filter((end) => !Number.isNaN(end));
  const window = { start: now - DAY, end: last.concat(ends).reduce((one, other) => Math.max(one, other), now) + DAY };
  const held = await heldSlots(medplum, slots);
  const plan = planSlots(
    {
      schedule,
      services: servicesOf(schedule, calendars),
      publishing,
      closedDays: closuresIn(calendars, config),
      slots,
      held,
      window,
      now,
      horizonWeeks,
    },
    config,
  );
  const startsOf = (isMeant: (stored: Slot | undefined, resource: Slot) => boolean): string[] =>
    plan.changes.filter(({ stored, resource }) => isMeant(stored, resource)).map(({ resource }) => resource.start);
  const isFree = (slot: Slot | undefined): boolean => slot?.status === 'free';
  return {
    schedule: schedule.id,
    published: startsOf((stored, resource) => !isFree(stored) && isFree(resource)),
    withdrawn: startsOf((stored, resource) => isFree(stored) && !isFree(resource)),
    changed: startsOf((stored, resource) => isFree(stored) && isFree(resource)),
    free: slots.filter((slot) => isFree(slot) && Date.parse(slot.start) >= now).length,
    problems: plan.problems.map(({ expression, diagnostics }) => `${expression}: ${diagnostics}`),
  };
}
