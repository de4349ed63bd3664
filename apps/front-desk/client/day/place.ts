import { useCallback } from 'react';
import { useLocation, useSearch } from 'wouter';
import { addDays, isLocalDay, type LocalDay, localDayOf, mondayOf } from '../../../../core/time/local-day.ts';
import { config } from '../settings.ts';

/** Where the user is in the calendar: all of it is in the address, so that one can come back to it. */
export interface Place {
  readonly day: LocalDay;
  readonly span: 'day' | 'week';
  /** Ids of the Schedules that are shown; empty: the first ones. */
  readonly schedules: readonly string[];
  /** What is open: `Appointment/…`, `Slot/…`, `Block/new`, or `New/…`: a calendar and a time (`newAt`). */
  readonly open: string | undefined;
  /** Id of the appointment that is being moved. */
  readonly moving: string | undefined;
  /** Id of the patient for whom a time is being chosen. */
  readonly person: string | undefined;
}

/** Time of a calendar that nobody offers, as it is opened to be booked; in milliseconds since 1970 UTC. */
export const newAt = (schedule: string, start: number): string => `New/${schedule}.${start / 60_000}`;

/** What {@link newAt} has written. */
export function readNewAt(id: string): { readonly schedule: string; readonly start: number } {
  const at = id.lastIndexOf('.');
  return { schedule: id.slice(0, at), start: Number(id.slice(at + 1)) * 60_000 };
}

/** The days that are shown. */
export function daysOf({ day, span }: Pick<Place, 'day' | 'span'>): LocalDay[] {
  return span === 'day' ? [day] : Array.from({ length: 7 }, (_, index) => addDays(mondayOf(day), index));
}

function placeIn(search: string): Place {
  const query = new URLSearchParams(search);
  const day = query.get('date');
  const open = query.get('open');
  return {
    day: isLocalDay(day) ? day : localDayOf(Date.now(), config.timeZone),
    span: query.get('span') === 'week' ? 'week' : 'day',
    schedules: query.get('calendars')?.split(',').filter(Boolean) ?? [],
    open: open && /^(Appointment|Slot|Block|New)\/[A-Za-z0-9.-]{1,64}$/.test(open) ? open : undefined,
    moving: query.get('move') ?? undefined,
    person: query.get('for') ?? undefined,
  };
}

function addressOf({ day, span, schedules, open, moving, person }: Place): string {
  const query = new URLSearchParams({
    date: day,
    ...(span === 'week' && { span }),
    ...(schedules.length > 0 && { calendars: schedules.join(',') }),
    ...(open && { open }),
    ...(moving && { move: moving }),
    ...(person && { for: person }),
  });
  return `/calendar?${query}`;
}

/** The place in the calendar, and the way to another one. */
export function usePlace(): readonly [Place, (change: Partial<Place>) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const place = placeIn(search);
  const go = useCallback(
    (change: Partial<Place>) => navigate(addressOf({ ...placeIn(window.location.search), ...change })),
    [navigate],
  );
  return [place, go];
}
