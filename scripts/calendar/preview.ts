import type { MedplumClient } from '@medplum/core';
import type { Slot } from '@medplum/fhirtypes';
import { holdersOf } from '../../core/booking/appointment/reads.ts';
import { holdsSlots, statusQuery } from '../../core/booking/appointment/status.ts';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { type Preview, previewOf } from '../../core/calendar/publish/preview.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { portions } from '../../core/rows/search.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { searchAll } from '../medplum/project.ts';
import type { Calendars } from './read.ts';

async function heldSlots(medplum: MedplumClient, slots: readonly Slot[]): Promise<Set<string>> {
  const held = new Set<string>();
  const free = slots.filter(({ status }) => status === 'free').map(({ id }) => `Slot/${id}`);
  for (const some of portions(free)) {
    const found = await searchAll(medplum, 'Appointment', { slot: some.join(','), status: statusQuery(holdsSlots) });
    for (const id of holdersOf(found).keys()) {
      held.add(id);
    }
  }
  return held;
}

/**
 * What would be published and withdrawn for a schedule.
 *
 * @param stored - all Slots but those that ended at least a day before `now`
 * @param calendars - with the opening hours that are to be tried
 * @param now - milliseconds since 1970 UTC
 */
export async function preview(
  medplum: MedplumClient,
  schedule: Calendars['schedules'][number],
  stored: readonly Slot[],
  calendars: Calendars,
  now: number,
  config: BookingConfig,
): Promise<Preview> {
  const slots = stored.filter(({ end }) => Date.parse(end) > now - DAY);
  const held = await heldSlots(medplum, slots);
  return previewOf(openingHoursOf(schedule, calendars, config), { slots, held, now }, config);
}
