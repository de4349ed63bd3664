import type { Period, Resource } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import { contains, type Interval, overlaps } from '../../../core/time/interval.ts';
import { dateRange } from '../../../core/time/local-day.ts';
import { approximately, type DateContext, type Prefix, readDates } from './dates.ts';
import { isIssue, type ResourceFilter, type SearchParam } from './param.ts';
import type { SearchedPeriod } from './parameters.ts';

/**
 * FHIR's prefixes for a period, which may begin before what is searched for and end after it. If a boundary of the period
 * lies within the searched time, `ge` and `le` count the whole of that time: a stay that ended on the 5th is `ge` the
 * 5th.
 */
const prefixes: Readonly<Record<Prefix, (searched: Interval, target: Interval, now: number) => boolean>> = {
  eq: contains,
  ne: (searched, target) => !contains(searched, target),
  gt: ({ end }, target) => target.end > end,
  ge: ({ start }, target) => target.end > start,
  lt: ({ start }, target) => target.start < start,
  le: ({ end }, target) => target.start < end,
  sa: ({ end }, target) => target.start >= end,
  eb: ({ start }, target) => target.end <= start,
  ap: (searched, target, now) => overlaps(approximately(searched, now), target),
};

function periodOf(resource: Resource, element: SearchedPeriod['element']): Period {
  const elements: object = resource;
  const period = isObject(elements) ? elements[element] : undefined;
  return isObject(period) ? period : {};
}

/** The time that a part of a period covers; a missing start or end of the whole is open; `undefined` without dates. */
function timeOf(resource: Resource, { element, part }: SearchedPeriod, timeZone: string): Interval | undefined {
  const { start, end } = periodOf(resource, element);
  const [from, to] = [start, end].map((value) => (value === undefined ? undefined : dateRange(value, timeZone)));
  if (part !== 'whole') {
    return part === 'start' ? from : to;
  }
  return from || to
    ? { start: from?.start ?? Number.NEGATIVE_INFINITY, end: to?.end ?? Number.POSITIVE_INFINITY }
    : undefined;
}

/**
 * A search for the period of a resource, or one end of it. Medplum compares only its start, or its end if it has no
 * start, so the gateway compares periods itself.
 *
 * @param sent - name of the parameter, with the modifier `:missing` or none, and the dates, separated by commas
 * @returns the condition, or the issue
 * @see https://hl7.org/fhir/R4/search.html#date
 */
export function readPeriodSearch(
  { name, value }: SearchParam,
  period: SearchedPeriod,
  { timeZone, now }: DateContext,
): ResourceFilter | Issue {
  const { element } = period;
  if (name.endsWith(':missing')) {
    const isMissing = value === 'true';
    return { element, matches: (resource) => (timeOf(resource, period, timeZone) === undefined) === isMissing };
  }
  const dates = readDates({ name, value }, false, timeZone);
  if (isIssue(dates)) {
    return dates;
  }
  return {
    element,
    matches: (resource) => {
      const time = timeOf(resource, period, timeZone);
      return time !== undefined && dates.some(({ prefix, range }) => prefixes[prefix](range, time, now));
    },
  };
}
