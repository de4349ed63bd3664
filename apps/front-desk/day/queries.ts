import type { Schedule } from '@medplum/fhirtypes';
import { formatInstant } from '../../../core/fhir/instant.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { listOf } from '../../../packages/web/elements.ts';

interface Search {
  readonly type: 'Slot' | 'Appointment';
  readonly query: readonly (readonly [string, string])[];
  readonly include?: readonly (readonly [string, string])[];
}

/** The searches for the Slots of some calendars within a period, and for all appointments with their patients. */
export function calendarSearches(schedules: readonly string[], { start, end }: Interval): Search[] {
  const [from, to] = [formatInstant(start), formatInstant(end)];
  return [
    ...(schedules.length > 0
      ? [
          {
            type: 'Slot' as const,
            query: [
              ['schedule', schedules.map((id) => `Schedule/${id}`).join(',')],
              // Includes Slots without an end that begin within the period.
              ['_filter', `(start lt "${to}" and (end gt "${from}" or start ge "${from}"))`],
            ] as const,
          },
        ]
      : []),
    {
      type: 'Appointment',
      query: [
        // Appointments booked here last a day at most. The index knows only their start.
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

/** The name of a calendar: its actors, or else its reference. */
export function titleOf({ actor, id }: Pick<Schedule, 'actor' | 'id'>): string {
  const names = listOf(actor).flatMap(({ display, reference }) => (display ?? reference) || []);
  return names.join(', ') || `Schedule/${id}`;
}

/** Calendars sorted by name, inactive ones last. */
export function inOrder(schedules: readonly Schedule[]): Schedule[] {
  const isClosed = ({ active }: Schedule) => Number(active === false);
  return schedules.toSorted(
    (schedule, other) => isClosed(schedule) - isClosed(other) || titleOf(schedule).localeCompare(titleOf(other)),
  );
}
