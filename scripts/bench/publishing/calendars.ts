import type { Bundle, HealthcareService } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../../core/config/config.ts';
import { serviceTypeOf } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { createActor, createSchedule, createService } from '../create.ts';
import { resourceIn, send } from '../http.ts';
import type { Installation } from '../installation.ts';

/** The published calendars. */
export interface Published {
  readonly service: HealthcareService;
  readonly schedules: readonly string[];
}

const search = async (path: string, { medplum, tokens }: Installation): Promise<Bundle> =>
  resourceIn('Bundle', await send('GET', `${medplum}/${path}`, tokens.staff));

const total = async (path: string, installation: Installation): Promise<number> =>
  (await search(`${path}&_total=accurate&_count=1`, installation)).total ?? 0;

/** End of the opening hours, in minutes of the day. */
const CLOSES = 16 * 60;

/** Maximum number of half-hour Slots on a working day: from midnight until closing time. */
export const MAX_SLOTS_A_DAY = CLOSES / 30;

const timeOfDay = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60, 0].map((part) => String(part).padStart(2, '0')).join(':');

/** Opening hours on working days that give each day this many half-hour Slots. */
const open = (slotsADay: number): HealthcareService['availableTime'] => [
  {
    daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri'],
    availableStartTime: timeOfDay(CLOSES - slotsADay * 30),
    availableEndTime: timeOfDay(CLOSES),
  },
];

/** Creates schedules of one service with this many half-hour Slots on a working day, at most `MAX_SLOTS_A_DAY`. */
export async function makeCalendars(
  installation: Installation,
  { schedules: count, slots }: { readonly schedules: number; readonly slots: number },
  { timeZone }: BookingConfig,
): Promise<Published> {
  const service = await createService(installation, 30, timeZone, { availableTime: open(slots) });
  const schedules: string[] = [];
  while (schedules.length < count) {
    const actor = [await createActor(installation)];
    schedules.push((await createSchedule(installation, { actor, serviceType: serviceTypeOf(service) })).id);
  }
  return { service, schedules };
}

/** Changes the service's hours, so that a working day has this many Slots from now on. */
export async function changeHours(
  { service }: Published,
  slots: number,
  { medplum, tokens }: Installation,
): Promise<void> {
  const changed = { ...service, availableTime: open(slots) };
  const url = `${medplum}/HealthcareService/${service.id}`;
  resourceIn('HealthcareService', await send('PUT', url, tokens.staff, changed));
}

/** Counts the free Slots of a Schedule in the nearest two weeks, from tomorrow on: ten working days. */
export function countNearest(schedule: string, installation: Installation): Promise<number> {
  const tomorrow = Math.floor(Date.now() / DAY + 1) * DAY;
  const [from, to] = [tomorrow, tomorrow + 14 * DAY].map((time) => new Date(time).toISOString());
  return total(`Slot?schedule=Schedule/${schedule}&status=free&start=ge${from}&start=lt${to}`, installation);
}

/** Counts the published Slots that exist more than once. */
export async function countTwice({ schedules }: Published, installation: Installation): Promise<number> {
  let twice = 0;
  for (const id of schedules) {
    const seen = new Set<string>();
    for (let offset = 0, isLast = false; !isLast; offset += 1000) {
      const query = `Slot?schedule=Schedule/${id}&status=free&_sort=_id&_count=1000&_offset=${offset}`;
      const { entry = [] } = await search(query, installation);
      for (const { resource } of entry) {
        const value = isResource(resource, 'Slot') ? (resource.identifier?.[0]?.value ?? '') : '';
        twice += seen.has(value) ? 1 : 0;
        seen.add(value);
      }
      isLast = entry.length < 1000;
    }
  }
  return twice;
}
