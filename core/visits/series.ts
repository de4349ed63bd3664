import type { Interval } from '../time/interval.ts';
import { DAY, instantOf, localTimeOf } from '../time/time-zone.ts';
import {
  type CandidateSchedule,
  type CandidateTime,
  type Computation,
  firstFrom,
  type Placed,
  type Proposal,
} from './search.ts';
import type { Series, Visit } from './visit.ts';

/** The longest period of a search, in milliseconds: a year. */
export const MAX_PERIOD = 366 * DAY;

/** A possible series, with its deviations from the regular times. */
export interface SeriesProposal {
  readonly proposal: Proposal;
  /** The regular times that were not free, by step. The appointment is near to its regular time. */
  readonly insteadOf: ReadonlyMap<string, number>;
  /** The number of appointments without any time. */
  readonly missing: number;
}

/**
 * The regular times of a series, at the same local time of the day.
 * @param start - of the first appointment
 */
function regularTimes(start: number, { count, every }: Series, timeZone: string): number[] {
  const local = localTimeOf(timeZone, start);
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? start : instantOf(timeZone, local + index * every * DAY),
  );
}

/** The windows for the appointments of a series whose first one starts in a given time. */
export function seriesWindows({ start, end }: Interval, series: Series, timeZone: string): Interval[] {
  const [from, to] = [start, end].map((time) => regularTimes(time, series, timeZone));
  return (from ?? []).map((time, index) => ({
    start: time - (index === 0 ? 0 : series.tolerance),
    end: (to?.[index] ?? time) + (index === 0 ? 0 : series.tolerance),
  }));
}

/** The candidate time nearest to a time; the earlier one of two. `schedule` restricts it to one Schedule. */
function nearest(
  openings: readonly CandidateTime[],
  time: number,
  { tolerance }: Series,
  earliest: number,
  schedule: string | undefined,
): (Interval & { readonly candidate: CandidateSchedule }) | undefined {
  let best: (Interval & { readonly candidate: CandidateSchedule }) | undefined;
  const distance = ({ start }: Interval): number => Math.abs(start - time);
  for (let at = firstFrom(openings, Math.max(earliest, time - tolerance)); at < openings.length; at++) {
    const opening = openings[at];
    if (!opening || opening.start > time + tolerance) {
      break;
    }
    const candidate = opening.roles[0]?.find(
      (candidateSchedule) => schedule === undefined || candidateSchedule.schedule === schedule,
    );
    if (candidate && (!best || distance(opening) < distance(best))) {
      best = { start: opening.start, end: opening.end, candidate: candidate };
    }
  }
  return best;
}

/** The series after a first time: further appointments are the nearest to their regular times, or missing. */
function seriesWith(
  openings: readonly CandidateTime[],
  first: CandidateTime,
  candidate: CandidateSchedule,
  series: Series,
  timeZone: string,
): SeriesProposal {
  const { start, end } = first;
  const placed: Placed[] = [{ step: '1', start, end, candidates: [candidate] }];
  const insteadOf = new Map<string, number>();
  for (const [index, time] of regularTimes(start, series, timeZone).entries()) {
    const schedule = series.isSameActor ? candidate.schedule : undefined;
    const earliest = placed.at(-1)?.end ?? start;
    const found = index === 0 ? undefined : nearest(openings, time, series, earliest, schedule);
    const step = String(index + 1);
    if (found) {
      placed.push({ step, start: found.start, end: found.end, candidates: [found.candidate] });
    }
    if (found && found.start !== time) {
      insteadOf.set(step, time);
    }
  }
  return { proposal: placed, insteadOf, missing: series.count - placed.length };
}

/** Compares two series with the same start: fewer missing appointments first, then fewer at other times. */
const compare = (seriesProposal: SeriesProposal, other: SeriesProposal): number =>
  seriesProposal.missing - other.missing || seriesProposal.insteadOf.size - other.insteadOf.size;

/**
 * The best series for each start in a given time: as many appointments as possible, as many as possible at their
 * regular time, and the others as near to it as the tolerance allows.
 * @param openings - of all occurrences, by start
 * @param isDue - whether it should yield
 * @returns by start; a series needs at least two appointments, unless only one is wanted
 */
export function* seriesStarting(
  openings: readonly CandidateTime[],
  { start, end }: Interval,
  series: Series,
  timeZone: string,
  isDue: () => boolean,
): Computation<SeriesProposal[]> {
  const best = new Map<number, SeriesProposal>();
  for (const first of openings.slice(firstFrom(openings, start), firstFrom(openings, end))) {
    const candidates = first.roles[0] ?? [];
    for (const candidate of series.isSameActor ? candidates : candidates.slice(0, 1)) {
      if (isDue()) {
        yield;
      }
      const found = seriesWith(openings, first, candidate, series, timeZone);
      const known = best.get(first.start);
      if (!known || compare(found, known) < 0) {
        best.set(first.start, found);
      }
    }
  }
  return [...best.values()].filter(({ proposal }) => proposal.length >= Math.min(2, series.count));
}

/**
 * The best of many series: complete ones first, then by the number of missing appointments. At equal numbers the
 * earliest comes first.
 */
export function bestSeries(seriesProposals: readonly SeriesProposal[], count: number): SeriesProposal[] {
  const startOf = ({ proposal }: SeriesProposal): number => proposal[0]?.start ?? 0;
  return seriesProposals
    .toSorted(
      (seriesProposal, other) => seriesProposal.missing - other.missing || startOf(seriesProposal) - startOf(other),
    )
    .slice(0, count);
}

/** A found visit; for a series also the regular times that were not free, by step. */
export type FoundVisit = Pick<SeriesProposal, 'proposal'> & Partial<Pick<SeriesProposal, 'insteadOf'>>;

/** Gives the steps of a found part of a visit their names in the whole visit. */
export function inWhole(found: FoundVisit, names: readonly string[], { series }: Visit): FoundVisit {
  const before = series ? Math.min(...names.map(Number)) - 1 : 0;
  const nameOf = (step: string): string => (series ? String(Number(step) + before) : step);
  return {
    proposal: found.proposal
      .map((one) => ({ ...one, step: nameOf(one.step) }))
      .filter(({ step }) => names.includes(step)),
    ...(found.insteadOf && { insteadOf: new Map([...found.insteadOf].map(([step, time]) => [nameOf(step), time])) }),
  };
}
