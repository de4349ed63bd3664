import type { BundleEntry } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { type Interval, union } from '../../time/interval.ts';
import { type SearchQuery, search } from '../search.ts';

/** How many Slots one search finds: as many as Medplum can. */
const COUNT = '1000';

/** A time in a Schedule, by its id. */
export interface ScheduleTime extends Interval {
  readonly schedule: string;
}

/**
 * Whether a search must find all Slots at some time: the time of one that it missed would be sold twice. A sorted search is
 * for the first ones only.
 */
export function mustBeWhole({ request }: BundleEntry): boolean {
  const [type, query] = (request?.url ?? '').split('?');
  const parameters = new URLSearchParams(query);
  return type === 'Slot' && parameters.has('end') && !parameters.has('_sort');
}

/** The conditions for Slots that overlap a time. */
export const atTime = ({ start, end }: Interval): SearchQuery => [
  ['start', `lt${formatInstant(end)}`],
  ['end', `gt${formatInstant(start)}`],
];

/**
 * The conditions for Slots that may be in the way of a booking without buffers: everything that is taken, and the published
 * ones that it excludes, withdrawn ones included. Other free Slots do not matter, however many places a calendar has.
 *
 * @param ids - ids of further Slots that are wanted in any case, separated by commas
 */
export function inTheWay(config: PublicConfig, ids?: string): SearchQuery {
  const taken = 'status ne "free" and status ne "entered-in-error"';
  const kinds = [`(${taken})`, `identifier eq "${artefactUri(config, 'LocalPublishedSlot')}|"`];
  return [['_filter', [...kinds, ...(ids ? [`_id eq "${ids}"`] : [])].join(' or ')]];
}

/** Times of Schedules, those of one Schedule that touch or overlap as one. */
export function merged(times: readonly ScheduleTime[]): ScheduleTime[] {
  return [...Map.groupBy(times, ({ schedule }) => schedule)].flatMap(([schedule, own]) =>
    union(own).map((time): ScheduleTime => ({ schedule, ...time })),
  );
}

/** The searches for all Slots at these times, whatever their status. */
export function slotsAtReads(times: readonly ScheduleTime[]): BundleEntry[] {
  return times.map(({ schedule, ...time }) =>
    search('Slot', [['schedule', `Schedule/${schedule}`], ...atTime(time), ['_count', COUNT]]),
  );
}
