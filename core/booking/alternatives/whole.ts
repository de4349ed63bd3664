import type { BookingConfig } from '../../config/config.ts';
import type { Alternative } from '../../fhir/outcome/outcome.ts';
import type { Interval } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import { stepsWith } from '../../visits/check.ts';
import { LONGEST_PERIOD } from '../../visits/request.ts';
import type { Proposal } from '../../visits/search.ts';
import { type StepMark, stepOf, type Visit } from '../../visits/visit.ts';
import { type BookRequest, eachOf } from '../book/request/request.ts';
import { findResource, type ResourceSet } from '../resource-set.ts';

/** How far ahead other visits are looked for, in days. */
const AHEAD = 28;

/** A request for a whole visit. */
export interface WholeRequest {
  /** The request, each of whose appointments says which step it is. */
  readonly request: BookRequest;
  /** Id of the service. */
  readonly service: string;
  readonly steps: readonly string[];
  /** From the first appointment to the last. */
  readonly interval: Interval;
}

/** A request as one for a whole visit: several appointments that are steps of one; `undefined` if it is none. */
export function wholeIn(
  request: BookRequest,
  state: ResourceSet,
  config: Pick<BookingConfig, 'uris'>,
): WholeRequest | undefined {
  const all = eachOf(request).map((one) => {
    const stored = findResource(state, 'Appointment', one.appointment.value.id ?? '');
    const step: StepMark | undefined = one.appointment.step ?? (stored && stepOf(stored, config));
    return { ...one, appointment: { ...one.appointment, ...(step && { step }) } };
  });
  const marks = all.flatMap(({ appointment: { step } }) => step ?? []);
  const times = all.flatMap(({ interval }) => interval ?? []);
  const [first, ...others] = all;
  const steps = [...new Set(marks.map(({ step }) => step))];
  const isWhole = [steps, times].every(({ length }) => length === all.length);
  const service = marks[0]?.service;
  if (!first || others.length === 0 || !isWhole || !service || marks.some((one) => one.service !== service)) {
    return undefined;
  }
  const interval = {
    start: Math.min(...times.map(({ start }) => start)),
    end: Math.max(...times.map(({ end }) => end)),
  };
  return { request: { ...first, others }, service, steps, interval };
}

const numbersOf = ({ steps }: WholeRequest): number[] => steps.map(Number).toSorted((one, other) => one - other);

/** The visit that is asked for: with exactly these steps; of a series from its first to its last. */
export function visitLike(whole: WholeRequest, visit: Visit): Visit {
  const [first = 1, last = first] = [numbersOf(whole)[0], numbersOf(whole).at(-1)];
  return {
    ...visit,
    steps: stepsWith(visit.steps, (name) => whole.steps.includes(name)).map((one) => ({ ...one, isOptional: false })),
    series: visit.series && { ...visit.series, count: last - first + 1 },
  };
}

/** When other visits are looked for: from the time that was asked for on; if that has none, before it. */
export function periodsFor({ interval: { start, end } }: WholeRequest, now: number): Interval[] {
  const until = Math.min(end + AHEAD * DAY, Math.max(start, now) + LONGEST_PERIOD);
  return [
    { start: Math.max(start, now), end: until },
    { start: now, end: Math.min(end, now + LONGEST_PERIOD) },
  ].filter((period) => period.start < period.end);
}

/** Visits that were found as alternatives to the one that was asked for: those with all of its steps. */
export function wholesIn(proposals: readonly Proposal[], whole: WholeRequest, { series }: Visit): Alternative[] {
  const before = series ? (numbersOf(whole)[0] ?? 1) - 1 : 0;
  return proposals.flatMap((proposal) => {
    const steps = proposal
      .map(({ step, start, end, fillers }) => ({
        name: series ? String(Number(step) + before) : step,
        slots: fillers.flatMap(({ slots }) => slots),
        start,
        end,
      }))
      .filter(({ name }) => whole.steps.includes(name));
    const [first] = steps;
    const isWhole = first && steps.length === whole.steps.length;
    return isWhole ? [{ slots: [], start: first.start, end: Math.max(...steps.map(({ end }) => end)), steps }] : [];
  });
}
