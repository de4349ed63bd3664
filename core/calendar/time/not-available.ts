import type { Extension, HealthcareService, Period } from '@medplum/fhirtypes';
import { parseInstant } from '../../fhir/instant.ts';
import type { Interval } from '../../time/interval.ts';
import { localDateRange } from '../../time/local-day.ts';
import { instantOf } from '../../time/time-zone.ts';
import { type Checked, faulty, sound } from '../problem.ts';

/** A period in which a Schedule or a service is closed, despite its weekly hours. */
export interface Closure {
  readonly description: string | undefined;
  /** Without a start or an end, the period is unlimited in that direction. */
  readonly period: Period;
  readonly path: string;
}

/** One bound of a period as an instant. A date is a whole day, month or year in the time zone. */
function bound(value: string, side: 'start' | 'end', timeZone: string): number | undefined {
  const stretch = localDateRange(value);
  return stretch ? instantOf(timeZone, stretch[side]) : parseInstant(value);
}

/**
 * The interval of a FHIR Period, infinite without a start or an end. Dates are whole local days, the last one included.
 * @see https://hl7.org/fhir/R4/datatypes.html#Period
 */
export function periodInterval({ start, end }: Period, timeZone: string, path: string): Checked<Interval> {
  const from = start === undefined ? Number.NEGATIVE_INFINITY : bound(start, 'start', timeZone);
  const to = end === undefined ? Number.POSITIVE_INFINITY : bound(end, 'end', timeZone);
  if (from === undefined || to === undefined) {
    const what = 'A period must have dates (2027-12-24) or instants (2027-12-24T12:00:00+01:00).';
    return faulty('period-invalid', what, `${path}.${from === undefined ? 'start' : 'end'}`);
  }
  if (start === undefined && end === undefined) {
    return faulty('period-invalid', 'A period must have a start or an end.', path);
  }
  return from < to
    ? sound({ start: from, end: to })
    : faulty('period-invalid', 'A period must end after it starts.', path);
}

/** The closures in `HealthcareService.notAvailable`. */
export function serviceClosures({ notAvailable = [] }: HealthcareService, path: string): Closure[] {
  return notAvailable.map(({ description, during = {} }, index) => ({
    description,
    period: during,
    path: `${path}.notAvailable[${index}].during`,
  }));
}

/** The closures in `notAvailableTime` of a Schedule's availability, which has the shape of R5's Availability. */
export function scheduleClosures(availability: Extension, path: string): Closure[] {
  const times = (availability.extension ?? []).filter(({ url }) => url === 'notAvailableTime');
  return times.map(({ extension = [] }, index) => ({
    description: extension.find(({ url }) => url === 'description')?.valueString,
    period: extension.find(({ url }) => url === 'during')?.valuePeriod ?? {},
    path: `${path}.extension('notAvailableTime')[${index}].extension('during').value`,
  }));
}
