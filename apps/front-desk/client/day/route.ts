import { useCallback, useEffect } from 'react';
import { useLocation, useSearch } from 'wouter';
import { addDays, isLocalDay, type LocalDay, localDayOf, mondayOf } from '../../../../core/time/local-day.ts';
import { remember, remembered } from '../parts/remembered.ts';
import { config } from '../settings.ts';

/**
 * The state of the calendar page. All of it is in the URL, so that one can come back to it. Missing parts are
 * remembered: the calendars permanently, day and span in the browser's tab.
 */
export interface DayRoute {
  readonly day: LocalDay;
  readonly span: 'day' | 'week';
  /** Ids of the shown Schedules; empty: the first ones. */
  readonly schedules: readonly string[];
  /** The open item: `Appointment/…`, `Slot/…`, `Block/new`, or `New/…` with a calendar and a time (`newAt`). */
  readonly open: string | undefined;
  readonly moving: string | undefined;
  readonly person: string | undefined;
}

/** The open item for any time of a calendar; `start` in milliseconds since 1970 UTC. */
export const newAt = (schedule: string, start: number): string => `New/${schedule}.${start / 60_000}`;

/** Reads the id that {@link newAt} has written. */
export function readNewAt(id: string): { readonly schedule: string; readonly start: number } {
  const at = id.lastIndexOf('.');
  return { schedule: id.slice(0, at), start: Number(id.slice(at + 1)) * 60_000 };
}

/** The days that are shown. */
export function daysOf({ day, span }: Pick<DayRoute, 'day' | 'span'>): LocalDay[] {
  return span === 'day' ? [day] : Array.from({ length: 7 }, (_, index) => addDays(mondayOf(day), index));
}

function dayRouteIn(search: string): DayRoute {
  const query = new URLSearchParams(search);
  const day = query.get('date') ?? remembered(sessionStorage, 'day');
  const open = query.get('open');
  return {
    day: isLocalDay(day) ? day : localDayOf(Date.now(), config.timeZone),
    span:
      (query.get('span') ?? (query.has('date') ? '' : remembered(sessionStorage, 'span'))) === 'week' ? 'week' : 'day',
    schedules: (query.get('calendars') ?? remembered(localStorage, 'calendars')).split(',').filter(Boolean),
    open: open && /^(Appointment|Slot|Block|New)\/[A-Za-z0-9.-]{1,64}$/.test(open) ? open : undefined,
    moving: query.get('move') ?? undefined,
    person: query.get('for') ?? undefined,
  };
}

function addressOf({ day, span, schedules, open, moving, person }: DayRoute): string {
  const query = new URLSearchParams({
    date: day,
    ...(span === 'week' && { span }),
    calendars: schedules.join(','),
    ...(open && { open }),
    ...(moving && { move: moving }),
    ...(person && { for: person }),
  });
  return `/calendar?${query}`;
}

/** Whether the URL names a day. */
export const isDayNamed = (): boolean => new URLSearchParams(window.location.search).has('date');

/** Changes the route. `isInstead` replaces the current entry of the browser's history. */
export type Go = (change: Partial<DayRoute>, isInstead?: boolean) => void;

/** The route of the calendar page, and the function that changes it. */
export function useDayRoute(): readonly [DayRoute, Go] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const place = dayRouteIn(search);
  const { day, span } = place;
  const schedules = place.schedules.join();
  useEffect(() => {
    // Today is not remembered, so that the page shows the new day after a night.
    remember(sessionStorage, 'day', day === localDayOf(Date.now(), config.timeZone) ? '' : day);
    remember(sessionStorage, 'span', span);
    remember(localStorage, 'calendars', schedules);
  }, [day, span, schedules]);
  const go = useCallback(
    (change: Partial<DayRoute>, isInstead = false) =>
      navigate(addressOf({ ...dayRouteIn(window.location.search), ...change }), { replace: isInstead }),
    [navigate],
  );
  return [place, go];
}
