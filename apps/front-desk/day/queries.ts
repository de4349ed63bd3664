import type { Schedule } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { listOf } from '../../../packages/web/elements.ts';

/** A search, as type and parameters. */
interface Search {
  readonly type: 'Slot' | 'Appointment';
  readonly query: readonly (readonly [string, string])[];
  /** What is read with it. */
  readonly include?: readonly (readonly [string, string])[];
}

/** The searches for everything in some calendars within a time: their Slots, and all appointments with their patients. */
export function calendarSearches(schedules: readonly string[], { start, end }: Interval): Search[] {
  const [from, to] = [formatInstant(start), formatInstant(end)];
  return [
    ...(schedules.length > 0
      ? [
          {
            type: 'Slot' as const,
            query: [
              ['schedule', schedules.map((id) => `Schedule/${id}`).join(',')],
              // One without an end begins within the time: it is found, too.
              ['_filter', `(start lt "${to}" and (end gt "${from}" or start ge "${from}"))`],
            ] as const,
          },
        ]
      : []),
    {
      type: 'Appointment',
      query: [
        // None that is booked here is longer than a day; the index knows only when each begins.
        ['date', `ge${formatInstant(start - DAY)}`],
        ['date', `lt${to}`],
        ['_filter', `(end gt "${from}" or date ge "${from}")`],
      ],
      include: [
        ['_include', 'Appointment:patient'],
        ['_revinclude:iterate', 'RelatedPerson:patient'],
      ],
    },
  ];
}

/** The name of a calendar: the names of its actors, or its own reference if there are none. */
export function titleOf({ actor, id }: Pick<Schedule, 'actor' | 'id'>): string {
  const names = listOf(actor).flatMap(({ display, reference }) => (display ?? reference) || []);
  return names.join(', ') || `Schedule/${id}`;
}

/** The calendars in the order of their names, inactive ones last. */
export function inOrder(schedules: readonly Schedule[]): Schedule[] {
  const isClosed = ({ active }: Schedule) => Number(active === false);
  return schedules.toSorted(
    (schedule, other) => isClosed(schedule) - isClosed(other) || titleOf(schedule).localeCompare(titleOf(other)),
  );
}
