import type { Appointment, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import {
  concernedBy,
  type HoursData,
  type HoursHolder,
  hoursData,
  withChange,
} from '../../../../core/fhir/scheduling/hours-data.ts';
import { DAY } from '../../../../core/time/time-zone.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { type ChangePreview, previewChange as previewIn } from '../../hours/preview.ts';
import { searchAll, searchUrl } from '../fhir/client.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';

async function load(): Promise<HoursData | Refusal> {
  const found = await searchAll([searchUrl('Schedule', []), searchUrl('HealthcareService', [])]);
  if (isRefusal(found)) {
    return found;
  }
  const resources = found.flat();
  const references = resources
    .filter((one) => isResource(one, 'Schedule'))
    .flatMap(({ actor }) => listOf(actor).flatMap(({ reference }) => reference ?? []));
  const types = ['Practitioner', 'PractitionerRole', 'Location'] as const;
  const searches = types.flatMap((type) => {
    const ids = references.filter((one) => one.startsWith(`${type}/`)).map((one) => one.slice(type.length + 1));
    return ids.length > 0 ? [searchUrl(type, [['_id', [...new Set(ids)].join(',')]])] : [];
  });
  const actors = searches.length > 0 ? await searchAll(searches) : [];
  return isRefusal(actors) ? actors : hoursData([...resources, ...actors.flat()], config);
}

/** Loads the opening hours of the clinic. */
export const useHours = () => useLoaded('hours', load);

/** The effects of a change, by Schedule id. */
export type Previews = ReadonlyMap<string, ChangePreview>;

/** Previews a changed service, calendar or closed day, Schedule by Schedule. Nothing is written. */
export async function previewChange(
  changed: HoursHolder,
  data: HoursData,
  onProgress: (done: number, all: number) => void,
): Promise<Previews | Refusal> {
  const now = Date.now();
  const after = withChange(data, changed, config);
  const schedules = concernedBy(changed, after, config);
  const previews = new Map<string, ChangePreview>();
  const booked = await searchAll([searchUrl('Appointment', [['date', `ge${formatInstant(now - DAY)}`]])]);
  if (isRefusal(booked)) {
    return booked;
  }
  const appointments = booked.flat().filter((one): one is Appointment => isResource(one, 'Appointment'));
  for (const schedule of schedules) {
    onProgress(previews.size, schedules.length);
    const query = [
      ['schedule', `Schedule/${schedule.id}`],
      ['_filter', `(end gt "${formatInstant(now - DAY)}")`],
    ] as const;
    const found = await searchAll([searchUrl('Slot', query)]);
    if (isRefusal(found)) {
      return found;
    }
    const slots = found.flat().filter((one): one is Slot => isResource(one, 'Slot'));
    previews.set(schedule.id, previewIn(schedule, after, { slots, appointments, now }, config));
  }
  return previews;
}
