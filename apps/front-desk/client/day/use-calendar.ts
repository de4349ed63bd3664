import type { Schedule } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { intervalOf, type LocalDay } from '../../../../core/time/local-day.ts';
import { type CalendarData, calendarData } from '../../day/entries.ts';
import { calendarSearches, inOrder } from '../../day/queries.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { searchAll, searchUrl } from '../fhir/client.ts';
import { useFound, type Watched } from '../parts/use-found.ts';
import { type Loaded, useLoaded } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';

/** All calendars of the clinic. */
export function useSchedules(): Loaded<Schedule[]> {
  return useLoaded('schedules', async () => {
    const found = await searchAll([searchUrl('Schedule', [])]);
    return isRefusal(found) ? found : inOrder(found.flat().filter((one) => isResource(one, 'Schedule')));
  });
}

function windowOf(days: readonly LocalDay[]) {
  const { timeZone } = config;
  return {
    start: intervalOf(days[0] ?? '', timeZone).start,
    end: intervalOf(days.at(-1) ?? '', timeZone).end,
  };
}

/** The resources of some calendars on some days. Changes by others appear automatically. */
export function useCalendar(schedules: readonly string[], days: readonly LocalDay[]): Watched<CalendarData> {
  const searches = calendarSearches(schedules, windowOf(days));
  return useFound(`calendar ${schedules.join()} ${days.join()}`, searches, calendarData);
}
