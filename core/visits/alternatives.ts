import type { BundleEntry, Schedule, Slot } from '@medplum/fhirtypes';
import { MAX_SLOTS } from '../booking/appointment/elements.ts';
import type { StartBounds } from '../booking/policy/policy.ts';
import type { AppointmentRequest, BookRequest } from '../booking/request/request.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, timeOf } from '../fhir/instant.ts';
import type { BookingErrorCode } from '../fhir/outcome/errors.ts';
import { type Alternative, containsPath, type Issue } from '../fhir/outcome/outcome.ts';
import { serviceIdsOfSchedule } from '../fhir/reference.ts';
import { findResource, type ResourceSet } from '../rows/resource-set.ts';
import { type SearchQuery, search, tokensOf } from '../rows/search.ts';
import { findChain } from '../slots/chain.ts';
import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';
import { markOf } from './plan.ts';
import { type FoundVisit, inWhole, MAX_PERIOD } from './series.ts';
import type { StepMark, Visit } from './visit.ts';

export function proposeWholes(issues: readonly Issue[], alternatives: readonly Alternative[]): Issue[] {
  const first = issues.find(({ code }) => proposing.has(code));
  return issues.map((issue) => (issue === first && alternatives.length > 0 ? { ...issue, alternatives } : issue));
}

/** The days after the requested visit that are searched for others. */
const AHEAD = 28;

export interface WholeRequest {
  readonly request: BookRequest;
  readonly service: string;
  readonly steps: readonly string[];
  /** From the first appointment to the last. */
  readonly interval: Interval;
}

/** The request as one for a whole visit: appointments that are steps of one; `undefined` for other requests. */
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

/** The request at the times of an alternative. Appointments without a step in it stay unchanged. */
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

/** The most alternatives that a refusal proposes. */
export const MAX_ALTERNATIVES = 3;

const proposing: ReadonlySet<BookingErrorCode> = new Set<BookingErrorCode>([
  'slot-not-free',
  'too-soon',
  'too-far-ahead',
  'hold-expired',
  'schedule-inactive',
  'slot-not-found',
]);

/** Refusals without alternatives, although another time may solve them. */
const aboutTime: ReadonlySet<BookingErrorCode> = new Set<BookingErrorCode>([
  'slot-mismatch',
  'period-invalid',
  'start-in-past',
]);

/** Whether another time could be booked instead: at least one issue asks for it, and no other issue rules it out. */
export function asksForAlternatives(issues: readonly Issue[]): boolean {
  return (
    issues.some(({ code }) => proposing.has(code)) &&
    issues.every(({ code }) => proposing.has(code) || aboutTime.has(code))
  );
}

export function proposeIn(issues: readonly Issue[], alternatives: readonly Alternative[]): Issue[] {
  return issues.map((issue) =>
    proposing.has(issue.code) && alternatives.length > 0 ? { ...issue, alternatives } : issue,
  );
}

/** The only appointment of a request that is refused for its time; `undefined` if several are. */
export function refusedIn({ appointments }: BookRequest, issues: readonly Issue[]): AppointmentRequest | undefined {
  const isRefused = ({ appointment: { path } }: AppointmentRequest): boolean =>
    issues.some(({ code, expression = '' }) => proposing.has(code) && containsPath(path, expression));
  const [first, second] = appointments.length === 1 ? appointments : appointments.filter(isRefused);
  return second ? undefined : first;
}

/** The request for the same appointment at another time. */
export function requestAt(
  { slots, start, end }: Omit<Alternative, 'steps'>,
  request: AppointmentRequest,
): AppointmentRequest {
  const { value, path } = request.appointment;
  return {
    ...request,
    appointment: { ...request.appointment, value: { ...value, start: formatInstant(start), end: formatInstant(end) } },
    interval: { start, end },
    slots: slots.map((id, index) => ({ value: id, path: `${path}.slot[${index}]` })),
    schedule: undefined,
  };
}

/** The most free Slots of a Schedule that are read before the wanted time, and after it. */
const MAX_SLOTS_READ = '20';

/** The most Schedules of the same service that are read. */
export const MAX_SCHEDULES = 8;

/**
 * The searches for the free Slots of a Schedule that are nearest to a time: one for Slots that begin before it, and one
 * for the others.
 * @param bounds - the earliest and latest start of an appointment
 */
export function nearbyReads({ id }: Schedule, wanted: Interval, { earliest, latest }: StartBounds): BundleEntry[] {
  const from = Math.max(wanted.start, earliest);
  const until: SearchQuery = Number.isFinite(latest) ? [['start', `le${formatInstant(latest)}`]] : [];
  const common: SearchQuery = [
    ['schedule', `Schedule/${id}`],
    ['status', 'free'],
    ['_count', MAX_SLOTS_READ],
    ...until,
  ];
  return [
    search('Slot', [
      ...common,
      ['start', `lt${formatInstant(from)}`],
      ['end', `gt${formatInstant(earliest)}`],
      ['_sort', '-start'],
    ]),
    search('Slot', [...common, ['start', `ge${formatInstant(from)}`], ['_sort', 'start']]),
  ];
}

/** The requested service types: those of the request, else those of its slots, else those of its schedules. */
function wantedTypes({ appointment, slots }: AppointmentRequest, schedules: readonly Schedule[], state: ResourceSet) {
  const ofSlots = slots.flatMap(({ value }) => findResource(state, 'Slot', value)?.serviceType ?? []);
  const found = [appointment.value.serviceType, ofSlots, schedules.flatMap(({ serviceType = [] }) => serviceType)];
  return found.find((types) => types && types.length > 0) ?? [];
}

/**
 * The searches for other active Schedules with the same service.
 * @param schedules - the Schedules that the request names
 * @param state - the visible resources that the request names
 */
export function sameServiceReads(
  request: AppointmentRequest,
  schedules: readonly Schedule[],
  state: ResourceSet,
): BundleEntry[] {
  const services = [...new Set(schedules.flatMap(serviceIdsOfSchedule))];
  const types = tokensOf(wantedTypes(request, schedules, state));
  const query: SearchQuery = [
    ['active:not', 'false'],
    ['_include', 'Schedule:actor'],
    ['_sort', '_id'],
    ['_count', String(MAX_SCHEDULES + schedules.length)],
  ];
  return [
    ...(types.length > 0 ? [search('Schedule', [['service-type', types.join(',')], ...query])] : []),
    ...(services.length > 0
      ? [search('Schedule', [['actor', services.map((id) => `HealthcareService/${id}`).join(',')], ...query])]
      : []),
  ];
}

/** Free Slots of one Schedule, and the bounds for the start of an appointment in it. */
export interface ScheduleSlots {
  readonly slots: readonly Slot[];
  readonly bounds: StartBounds;
}

interface TimedOffers extends Pick<ScheduleSlots, 'bounds'> {
  readonly slots: readonly (Interval & { readonly id: string })[];
}

/** The most starts in one long slot that are considered, besides the last possible one. */
const MAX_OF_SLOT = 4;

/**
 * Possible starts for a length of time in a slot: steps of that length from the start of the slot, and the last start
 * that fits. Of many steps, those nearest to the wanted start are taken. A slot that is too short gives its own start,
 * because other slots may follow it.
 */
function startsIn(slot: Interval, length: number, wanted: number, { earliest, latest }: StartBounds): number[] {
  const last = slot.end - length;
  if (last < slot.start) {
    return [slot.start];
  }
  const from = Math.max(slot.start, earliest);
  const goal = Math.min(Math.max(wanted, from), Math.min(last, latest));
  const near = Math.round((goal - slot.start) / length);
  const steps = Array.from({ length: MAX_OF_SLOT }, (_, index) => near + index - Math.floor(MAX_OF_SLOT / 2) + 1);
  const inSteps = steps.map((step) => slot.start + step * length).filter((start) => start <= last);
  return [...new Set([...inSteps, last])].filter((start) => start >= slot.start);
}

/** Slots of each Schedule that cover a time; `undefined` if a Schedule has none, or if they are too many. */
function slotsAt(group: readonly TimedOffers[], interval: Interval): string[] | undefined {
  const chains = group.map(({ slots, bounds: { earliest, latest } }) =>
    interval.start >= earliest && interval.start <= latest ? findChain(slots, interval) : undefined,
  );
  const slots = chains.flatMap((chain) => chain ?? []).map(({ id }) => id);
  return chains.includes(undefined) || slots.length > MAX_SLOTS ? undefined : slots;
}

/** The times at which all Schedules are free, by possible starts in the first one. */
function timesOf(offers: readonly ScheduleSlots[], wanted: Interval): Alternative[] {
  const group = offers.map(({ slots, bounds }) => ({
    bounds,
    slots: slots.flatMap((slot) => {
      const time = timeOf(slot);
      return slot.id !== undefined && time ? [{ id: slot.id, ...time }] : [];
    }),
  }));
  const length = wanted.end - wanted.start;
  const starts = group
    .slice(0, 1)
    .flatMap(({ slots, bounds }) => slots.flatMap((slot) => startsIn(slot, length, wanted.start, bounds)));
  return [...new Set(starts)].flatMap((start) => {
    const interval = { start, end: start + length };
    const slots = slotsAt(group, interval);
    return slots ? [{ slots, ...interval }] : [];
  });
}

/**
 * Candidates for another time, the nearest first; of two at the same distance, the earlier first. The rules decide
 * whether they can be booked (`requestAt`).
 * @param groups - Schedules that are needed simultaneously; several groups are alternatives
 * @param wanted - the refused time; it is not among the results, unless in other slots
 * @param refused - ids of the refused slots
 */
export function candidatesIn(
  groups: readonly (readonly ScheduleSlots[])[],
  wanted: Interval,
  refused: readonly string[],
): Alternative[] {
  const distance = ({ start }: Alternative): number => Math.abs(start - wanted.start);
  const isRefused = ({ slots, start }: Alternative): boolean =>
    start === wanted.start && slots.every((id) => refused.includes(id));
  return groups
    .flatMap((group) => timesOf(group, wanted))
    .filter((alternative) => !isRefused(alternative))
    .toSorted((alternative, other) => distance(alternative) - distance(other) || alternative.start - other.start);
}
