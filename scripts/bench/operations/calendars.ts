import { randomUUID } from 'node:crypto';
import type { HealthcareService } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../../core/config/config.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { create, createSchedule, createSlots, freeSlot } from '../create.ts';
import type { Installation } from '../installation.ts';

const MINUTES_20 = 20 * 60_000;

const CALENDARS = 3;

/** Bookable times of a calendar per day, from eight o'clock (UTC) on. */
const TIMES_A_DAY = 5;

/** Number of days: twelve weeks, from the day after tomorrow on. */
const DAYS = 84;

interface SearchedCalendars {
  readonly ofService: string;
  readonly ofSchedule: string;
  readonly within: (fromDay: number, toDay: number) => string;
}

/** Creates a service with three calendars that have free times for twelve weeks. Publishing is switched off. */
export async function makeCalendars(
  installation: Installation,
  config: BookingConfig,
  now: number,
): Promise<SearchedCalendars> {
  const coding = { system: 'urn:example:benchmark', code: randomUUID() };
  const service = await create<HealthcareService>(installation, {
    resourceType: 'HealthcareService',
    name: 'Benchmark of operations',
    type: [{ coding: [coding] }],
  });
  const first = Math.ceil(now / DAY) * DAY + DAY;
  let ofSchedule = '';
  for (let calendar = 0; calendar < CALENDARS; calendar += 1) {
    const schedule = await createSchedule(installation, {
      actor: [{ reference: `HealthcareService/${service.id}` }],
      extension: [{ url: artefactUri(config, 'LocalPublishing'), valueBoolean: false }],
    });
    const slots = Array.from({ length: DAYS * TIMES_A_DAY }, (_, index) => {
      const start = first + Math.floor(index / TIMES_A_DAY) * DAY + 8 * 3_600_000 + (index % TIMES_A_DAY) * MINUTES_20;
      return freeSlot(schedule, start, MINUTES_20);
    });
    await createSlots(installation, slots);
    ofSchedule = `schedule=Schedule/${schedule.id}`;
  }
  return {
    ofService: `schedule.actor:HealthcareService.type=${encodeURIComponent(`${coding.system}|${coding.code}`)}`,
    ofSchedule,
    within: (fromDay, toDay) =>
      `start=ge${formatInstant(first + fromDay * DAY)}&start=lt${formatInstant(first + toDay * DAY)}`,
  };
}
