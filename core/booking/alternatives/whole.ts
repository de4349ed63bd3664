import type { PublicConfig } from '../../config/config.ts';
import type { Alternative } from '../../fhir/outcome/outcome.ts';
import type { Interval } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import { type FoundVisit, inWhole } from '../../visits/part.ts';
import { LONGEST_PERIOD } from '../../visits/request.ts';
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
export function wholeIn(request: BookRequest, state: ResourceSet, config: PublicConfig): WholeRequest | undefined {
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

/** When other visits are looked for: from the time that was asked for on; if that has none, before it. */
export function periodsFor({ interval: { start, end } }: WholeRequest, now: number): Interval[] {
  const until = Math.min(end + AHEAD * DAY, Math.max(start, now) + LONGEST_PERIOD);
  return [
    { start: Math.max(start, now), end: until },
    { start: now, end: Math.min(end, now + LONGEST_PERIOD) },
  ].filter((period) => period.start < period.end);
}

/** Visits that were found as alternatives to the one that was asked for: those with all of its steps. */
export function wholesIn(found: readonly FoundVisit[], whole: WholeRequest, visit: Visit): Alternative[] {
  return found.flatMap((one) => {
    const steps = inWhole(one, whole.steps, visit).proposal.map(({ step, start, end, fillers }) => ({
      name: step,
      slots: fillers.flatMap(({ slots }) => slots),
      start,
      end,
    }));
    const [first] = steps;
    const isWhole = first && steps.length === whole.steps.length;
    return isWhole ? [{ slots: [], start: first.start, end: Math.max(...steps.map(({ end }) => end)), steps }] : [];
  });
}
