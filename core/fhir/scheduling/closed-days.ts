import type { HealthcareService } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../artefacts.ts';

export interface ClosedDay {
  /** First and last day, as dates. */
  readonly start: string;
  readonly end: string;
  readonly reason: string;
}

export function emptyClosedDays(config: PublicConfig): HealthcareService {
  return {
    resourceType: 'HealthcareService',
    identifier: [{ system: artefactUri(config, 'LocalClosedDays'), value: 'practice' }],
    active: false,
    name: 'Closed days',
  };
}

export function closedDaysIn({ notAvailable = [] }: HealthcareService): ClosedDay[] {
  return notAvailable
    .map(({ description, during }) => ({ start: during?.start ?? '', end: during?.end ?? '', reason: description }))
    .sort((one, other) => (one.start < other.start ? -1 : 1));
}

function withDays(list: HealthcareService, days: readonly ClosedDay[]): HealthcareService {
  const notAvailable = days.map(({ start, end, reason }) => ({
    description: reason,
    during: { ...(start && { start }), ...(end && { end }) },
  }));
  const { notAvailable: _, ...rest } = list;
  return { ...rest, ...(notAvailable.length > 0 && { notAvailable }) };
}

/** Adds closed days to the list, unless they are in it already. */
export function close(list: HealthcareService, days: readonly ClosedDay[]): HealthcareService {
  const stored = closedDaysIn(list);
  const isNew = ({ start, end }: ClosedDay): boolean =>
    !stored.some((closedDay) => closedDay.start === start && closedDay.end === end);
  return withDays(
    list,
    [...stored, ...days.filter(isNew)].sort((closedDay, other) => (closedDay.start < other.start ? -1 : 1)),
  );
}

/** Removes closures without any day, and closures that begin within a period, or end there if they have no start. */
export function reopen(list: HealthcareService, { start, end }: ClosedDay): HealthcareService {
  const isMeant = (day: string): boolean => day === '' || (start <= day && day <= end);
  return withDays(
    list,
    closedDaysIn(list).filter((closedDay) => !isMeant((closedDay.start || closedDay.end).slice(0, 10))),
  );
}

/**
 * Whether a HealthcareService is the calendar of closed days: it has an identifier of the system LocalClosedDays. Its
 * `notAvailable` lists the days on which no Schedule is open.
 */
export function isClosedDays({ identifier = [] }: HealthcareService, config: PublicConfig): boolean {
  return identifier.some(({ system }) => system === artefactUri(config, 'LocalClosedDays'));
}
