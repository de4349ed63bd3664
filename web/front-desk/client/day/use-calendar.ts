import type { Schedule } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { type CalendarData, calendarData } from '../../day/entries.ts';
import { intervalOf, type LocalDay } from '../../day/local-day.ts';
import { calendarSearches, inOrder } from '../../day/queries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { readBundle, searchAll, searchUrl } from '../fhir/client.ts';
import { type Loaded, useLoaded, useWatch, type Watched } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';

const ALL = ['_count', '1000'] as const;

/** All calendars of the clinic. */
export function useSchedules(): Loaded<Schedule[]> {
  return useLoaded('schedules', async () => {
    const found = await searchAll([searchUrl('Schedule', [ALL])]);
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

async function loadCalendar(schedules: readonly string[], days: readonly LocalDay[]): Promise<CalendarData | Refusal> {
  const urls = calendarSearches(schedules, windowOf(days)).map(({ type, query }) =>
    searchUrl(type, [...query, ALL, ...(type === 'Appointment' ? [['_include', 'Appointment:patient'] as const] : [])]),
  );
  const found = await searchAll(urls);
  return isRefusal(found) ? found : calendarData(found.flat());
}

/** How the calendars stand: how many resources there are, and which was written last. */
async function look(schedules: readonly string[], days: readonly LocalDay[]): Promise<string | undefined> {
  const newest = [['_sort', '-_lastUpdated'] as const, ['_count', '1'] as const, ['_total', 'accurate'] as const];
  const searches = calendarSearches(schedules, windowOf(days));
  const seen = await Promise.all(
    searches.map(async ({ type, query }) => {
      const bundle = await readBundle(searchUrl(type, [...query, ...newest]));
      return isRefusal(bundle) ? undefined : `${bundle.total} ${bundle.entry?.[0]?.resource?.meta?.versionId}`;
    }),
  );
  return seen.includes(undefined) ? undefined : seen.join();
}

/** Everything in some calendars on some days. What others change appears by itself. */
export function useCalendar(schedules: readonly string[], days: readonly LocalDay[]): Watched<CalendarData> {
  const key = `${schedules.join()} ${days.join()}`;
  const loaded = useLoaded(key, () => loadCalendar(schedules, days));
  const isBehind = useWatch(
    key,
    () => look(schedules, days),
    () => void loaded.reload(),
  );
  return { ...loaded, isBehind };
}
