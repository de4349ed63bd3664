import { proposing, requestAt } from '../booking/booking/alternatives.ts';
import type { AppointmentRequest, BookRequest } from '../booking/request/request.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import type { Alternative, Issue } from '../fhir/outcome/outcome.ts';
import { findResource, type ResourceSet } from '../rows/resource-set.ts';
import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import { markOf } from './plan.ts';
import { type FoundVisit, inWhole, MAX_PERIOD } from './series.ts';
import type { StepMark, Visit } from './visit.ts';

/** Adds whole visits to the first issue that proposes other times. */
export function proposeWholes(issues: readonly Issue[], alternatives: readonly Alternative[]): Issue[] {
  const first = issues.find(({ code }) => proposing.has(code));
  return issues.map((issue) => (issue === first && alternatives.length > 0 ? { ...issue, alternatives } : issue));
}

/** The days after the requested visit that are searched for others. */
const AHEAD = 28;

/** A request for a whole visit. */
export interface WholeRequest {
  readonly request: BookRequest;
  readonly service: string;
  readonly steps: readonly string[];
  /** From the first appointment to the last. */
  readonly interval: Interval;
}

/**
 * Reads a request as one for a whole visit: several appointments that are steps of one visit; `undefined` for other
 * requests.
 */
export function wholeIn(request: BookRequest, state: ResourceSet, config: PublicConfig): WholeRequest | undefined {
  const { appointments } = request;
  const marks = appointments.flatMap((appointmentRequest) => stepAsked(appointmentRequest, state, config) ?? []);
  const times = appointments.flatMap(({ interval }) => interval ?? []);
  const steps = [...new Set(marks.map(({ step }) => step))];
  const isWhole = [steps, times].every(({ length }) => length === appointments.length);
  const service = marks[0]?.service;
  if (appointments.length < 2 || !isWhole || !service || marks.some((stepMark) => stepMark.service !== service)) {
    return undefined;
  }
  const interval = {
    start: Math.min(...times.map(({ start }) => start)),
    end: Math.max(...times.map(({ end }) => end)),
  };
  return { request, service, steps, interval };
}

/** The periods to search for other visits: from the requested time on; if that has none, before it. */
export function periodsFor({ interval: { start, end } }: WholeRequest, now: number): Interval[] {
  const until = Math.min(end + AHEAD * DAY, Math.max(start, now) + MAX_PERIOD);
  return [
    { start: Math.max(start, now), end: until },
    { start: now, end: Math.min(end, now + MAX_PERIOD) },
  ].filter((period) => period.start < period.end);
}

/** The found visits that can replace the requested one: those with all of its steps. */
export function wholesIn(found: readonly FoundVisit[], whole: WholeRequest, visit: Visit): Alternative[] {
  return found.flatMap((foundVisit) => {
    const steps = inWhole(foundVisit, whole.steps, visit).proposal.map(({ step, start, end, candidates }) => ({
      name: step,
      slots: candidates.flatMap(({ slots }) => slots),
      start,
      end,
    }));
    const [first] = steps;
    const isWhole = first && steps.length === whole.steps.length;
    return isWhole ? [{ slots: [], start: first.start, end: Math.max(...steps.map(({ end }) => end)), steps }] : [];
  });
}

const stepAsked = (
  appointmentRequest: AppointmentRequest,
  state: ResourceSet,
  config: PublicConfig,
): StepMark | undefined =>
  markOf(appointmentRequest, findResource(state, 'Appointment', appointmentRequest.appointment.value.id ?? ''), config);

/** The request for another whole visit. */
export const requestFor = (
  { steps = [] }: Alternative,
  request: BookRequest,
  state: ResourceSet,
  config: PublicConfig,
): BookRequest => ({
  ...request,
  appointments: request.appointments.map((appointmentRequest) => {
    const at = steps.find(({ name }) => name === stepAsked(appointmentRequest, state, config)?.step);
    return at ? requestAt(at, appointmentRequest) : appointmentRequest;
  }),
});
