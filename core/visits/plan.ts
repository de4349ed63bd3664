import type { Appointment, Bundle, BundleEntry, Extension, Slot } from '@medplum/fhirtypes';
import { isHold, isOpenOffer, isPersonalOffer } from '../booking/appointment/expiry.ts';
import type { BookingContext, Knowledge } from '../booking/booking/apply-policy.ts';
import {
  type BookingDecision,
  calendarAt,
  calendarFor,
  changeable,
  freedForRequest,
  type PreparedAppointment,
  prepare,
  type RequestContext,
} from '../booking/booking/booking-calendar.ts';
import {
  appointmentEntries,
  outcomeOf,
  questionnaireResponseEntries,
  slotEntries,
  type Ties,
  takeoverEntries,
  termsOf,
  usedQuotaEntries,
} from '../booking/booking/changes.ts';
import { calendarAfter, decide, limitIssues } from '../booking/booking/decide.ts';
import { ambiguousIn, type Following, followingOf, mergedIn } from '../booking/booking/following.ts';
import { findExistingBooking } from '../booking/booking/idempotency.ts';
import type { AppointmentRequest, ParsedRequest } from '../booking/request/request.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../fhir/instant.ts';
import { type Issue, uniqueIssues, withoutDependentIssues } from '../fhir/outcome/outcome.ts';
import { idIn } from '../fhir/reference.ts';
import { isSameJson } from '../fhir/resource.ts';
import { ORIGINATING, PREVIOUS, RECURRENCE_ID } from '../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType, scheduleOf, schedulesOfSlots } from '../rows/resource-set.ts';
import { type SearchQuery, search } from '../rows/search.ts';
import { slotIdsOf } from '../slots/slot.ts';
import { servicesFor } from '../slots/terms.ts';
import { overlaps } from '../time/interval.ts';
import { STAYS, type StepTaken, stepsWith, unknownSteps, visitIssues } from './check.ts';
import {
  hasBegun,
  isByItself,
  isVisit,
  otherAppointmentsOf,
  readStepMark,
  type StepMark,
  stepExtension,
  stepOf,
  type Visit,
  visitGroupOf,
  visitOf,
} from './visit.ts';

/** The decision about one appointment of a request, which may be a step of a visit. */
interface Step extends BookingDecision {
  /** The requested step, else the stored one. */
  readonly mark: StepMark | undefined;
  /** The services with the visit definitions, as far as they were read. */
  readonly visits: ResourceSet | undefined;
}

const mismatch = (diagnostics: string, expression: string): Issue => ({
  code: 'visit-mismatch',
  diagnostics,
  expression,
});

const list = (appointments: readonly Appointment[]): string =>
  appointments.map(({ id }) => `Appointment/${id}`).join(', ');

/** The service of a visit if one of its appointments is booked alone, without being marked as a step. */
function visitMissed(step: Step): string | undefined {
  const { mark, earlier, selected, request, context } = step;
  if (mark || earlier.previous || context.offer) {
    return undefined;
  }
  const types = request.appointment.value.serviceType ?? [];
  const asking = selected.slots.flatMap((slot) => {
    const services = calendarAt(slot, step)?.services ?? [];
    const meant = servicesFor(slot, types.length > 0 ? types : (slot.services ?? []), services, context.config);
    return meant.length > 0 && meant.every((storedService) => isVisit(storedService, context.config)) ? meant : [];
  });
  return asking[0]?.id;
}

/** Whether the rules of visits may concern an appointment. */
const mayBeVisit = (step: Step): boolean =>
  step.mark !== undefined || step.earlier.besides.length > 0 || visitMissed(step) !== undefined;

function missedIssues(step: Step): Issue[] {
  const service = visitMissed(step);
  const diagnostics = `HealthcareService/${service} takes several appointments: book all of a proposal of $find in one request.`;
  return service ? [mismatch(diagnostics, `${step.request.appointment.path}.extension`)] : [];
}

/** The appointments of the visit that the request does not move. */
function staying(steps: readonly Step[]): Appointment[] {
  const found = steps.flatMap(({ earlier, state, visits, context: { now, config }, rewritten }) =>
    [earlier.previous, earlier.replaced].flatMap((appointment) =>
      appointment && (appointment === earlier.previous || isByItself(appointment, visits, config))
        ? otherAppointmentsOf(appointment, state, now, config).filter(({ id = '' }) => !rewritten.includes(id))
        : [],
    ),
  );
  return [...new Map(found.map((appointment) => [appointment.id, appointment])).values()];
}

/** Refuses to move, replace or accept a part of what only changes as a whole: a visit or a personal offer. */
function wholeIssues(steps: readonly Step[]): Issue[] {
  const left = staying(steps).filter((appointment) =>
    steps.every(({ context }) => !hasBegun(appointment, context.now)),
  );
  return steps.flatMap(({ request, earlier: { previous, replaced, besides }, visits, context: { config } }) => {
    const isTaken = previous !== undefined && isPersonalOffer(previous, config);
    const isNamed = (id: string | undefined): boolean => request.replaced.some(({ value }) => value === id);
    const isLeft = previous && left.length > 0 && (isTaken || !isByItself(previous, visits, config));
    const what = isTaken ? 'is one of several that are offered together' : 'is a step of a visit that moves as a whole';
    const moved = `Appointment/${previous?.id} ${what}: send ${list(left)} with it.`;
    const ended = `Appointment/${replaced?.id} is one of several of a visit (${list(besides)}): replace it by all appointments of another.`;
    return [
      ...(isLeft ? [mismatch(moved, `${request.appointment.path}.id`)] : []),
      ...(replaced && besides.some(({ id }) => !isNamed(id)) && steps.length === 1 && !isTaken
        ? [mismatch(ended, request.replaced[0]?.path ?? request.appointment.path)]
        : []),
    ];
  });
}

function takenBy(steps: readonly Step[]): StepTaken[] {
  return steps.flatMap(({ mark, request: { interval, appointment }, selected, state }) => {
    const schedules = [...new Set(selected.slots.flatMap(({ resource }) => scheduleOf(state, resource) ?? []))];
    return mark && interval ? [{ ...interval, step: mark.step, schedules, path: appointment.path }] : [];
  });
}

/** The time and Schedules of appointments of the visit that the request does not move. */
function takenByStaying(appointments: readonly Appointment[], { state, context: { config } }: Step): StepTaken[] {
  return appointments.flatMap((appointment) => {
    const [time, mark] = [timeOf(appointment), stepOf(appointment, config)];
    return mark && time
      ? [{ ...time, step: mark.step, schedules: schedulesOfSlots(slotIdsOf(appointment), state), path: STAYS }]
      : [];
  });
}

/**
 * The appointments of the visit that stay and restrict the times of the moved ones, without holds. Of a series, only
 * future appointments count. They do not count if they are fewer than the moved ones: then they are exceptions.
 */
function restrictingAppointments({ series, service }: Visit, steps: readonly Step[], { context }: Step): Appointment[] {
  const { now, config } = context;
  const left = staying(steps).filter(
    (appointment) => stepOf(appointment, config)?.service === service && !isHold(appointment, config),
  );
  const coming = left.filter((appointment) => !hasBegun(appointment, now));
  return !series ? left : coming.length < steps.length ? [] : coming;
}

/** Checks order, gaps, lengths and pools of the requested appointments and, on a move, of those that stay. */
function stepIssues(visit: Visit, steps: readonly Step[], first: Step): Issue[] {
  const left = restrictingAppointments(visit, steps, first);
  // The staying appointments come first: of two appointments for one step the moved one is at fault.
  const taken = [...takenByStaying(left, first), ...takenBy(steps)];
  const { config } = first.context;
  const isMove = left.length > 0 || steps.every(({ earlier: { previous } }) => previous && !isHold(previous, config));
  const isThere = (name: string): boolean => taken.some(({ step }) => step === name);
  // A step that the clinic has removed from a visit is not missing when the rest moves.
  const asked = isMove ? { ...visit, steps: stepsWith(visit.steps, isThere) } : visit;
  // A renamed or removed step can be moved, too: no rule is left for it.
  const named = steps.flatMap(({ earlier: { previous } }) => (previous && stepOf(previous, config)?.step) ?? []);
  const former = isMove ? unknownSteps(visit, named) : [];
  const validated = taken.filter(({ step }) => !former.includes(step));
  const { path } = first.request.appointment;
  const root = path.startsWith('Parameters') ? 'Parameters.parameter' : path;
  return visitIssues(asked, validated, config.timeZone, root).flatMap((issue) => {
    const at = issue.expression ?? '';
    // A staying appointment cannot be at fault; only its distance from a moved one can be.
    return at.startsWith(STAYS)
      ? at === `${STAYS}.start`
        ? [{ ...issue, expression: `${path}.start` }]
        : []
      : [issue];
  });
}

/** Checks the steps that appointments name: all must be of one visit, which can be booked and whose rules are met. */
function marksIssues(steps: readonly Step[]): Issue[] {
  const [first] = steps.filter(({ mark }) => mark);
  if (!first?.mark) {
    return [];
  }
  const { service } = first.mark;
  const strays = steps.filter(({ mark }) => mark?.service !== service);
  if (strays.length > 0) {
    return strays.map(({ request: { appointment } }) =>
      mismatch('The appointments of one request must be steps of one visit.', `${appointment.path}.extension`),
    );
  }
  const visit = visitOf(service, first.visits, first.context.config);
  if (!visit) {
    const isOld = steps.every(({ earlier: { previous } }) => previous);
    const diagnostics = `HealthcareService/${service} asks for no visit that can be booked.`;
    return isOld ? [] : [mismatch(diagnostics, `${first.request.appointment.path}.extension`)];
  }
  return steps.every(({ selected }) => selected.slots.length > 0) ? stepIssues(visit, steps, first) : [];
}

/** Whether the request accepts a personal offer unchanged. The service made it to fit. */
function isAccepting({ request: { interval, slots }, earlier: { previous }, context }: Step): boolean {
  const isOpen = previous !== undefined && isOpenOffer(previous, context.now, context.config);
  const ids = previous ? slotIdsOf(previous) : [];
  const isSame = slots.length === ids.length && slots.every(({ value }) => ids.includes(value));
  return isOpen && isSame && interval?.start === parseInstant(previous.start);
}

/** Issues of a requestor's appointments as visits. Staff may book and move without these rules. */
function visitRuleIssues(steps: readonly Step[]): Issue[] {
  const [first] = steps;
  if (first?.known.role !== 'requestor' || first.context.offer) {
    return [];
  }
  const whole = wholeIssues(steps);
  return steps.every(isAccepting) ? whole : [...steps.flatMap(missedIssues), ...whole, ...marksIssues(steps)];
}

/** The resources that decide about a request. */
export interface Reading {
  /** The visible resources that the request names or leads to. */
  readonly state: ResourceSet;
  /** The services with the visit definitions, read with the Bot's own rights: portals see no pools. */
  readonly visits?: ResourceSet | undefined;
  readonly known: Knowledge;
}

const sentMark = ({ appointment: { sent = {}, path } }: AppointmentRequest, config: PublicConfig) =>
  readStepMark(sent, path, config);

/** The step that an appointment of a request is to be; if it names none, the stored one. */
export function markOf(
  request: AppointmentRequest,
  stored: Appointment | undefined,
  config: PublicConfig,
): StepMark | undefined {
  return sentMark(request, config).step ?? (stored && stepOf(stored, config));
}

/** The searches for the other appointments of the visits of which a request moves or replaces one. */
export function siblingReads(
  appointments: readonly AppointmentRequest[],
  include: SearchQuery,
  state: ResourceSet,
  config: PublicConfig,
): BundleEntry[] {
  const named = appointments
    .flatMap(({ appointment, replaced }) => [appointment.value.id, ...replaced.map(({ value }) => value)])
    .flatMap((id) => (id === undefined ? [] : (findResource(state, 'Appointment', id) ?? [])));
  const groups = [...new Set(named.flatMap((appointment) => visitGroupOf(appointment, config) ?? []))];
  const system = artefactUri(config, 'LocalVisitGroup');
  return groups.map((group) =>
    search('Appointment', [['identifier', `${system}|${group}`], ['_count', '100'], ...include]),
  );
}

/** Ids of the services with the visit definitions of requested and stored appointments. */
export function visitServices(
  appointments: readonly AppointmentRequest[],
  state: ResourceSet,
  config: PublicConfig,
): string[] {
  const sent = appointments.map((appointmentRequest) => sentMark(appointmentRequest, config).step);
  const stored = resourcesOfType(state, 'Appointment').map((appointment) => stepOf(appointment, config));
  return [...new Set([...sent, ...stored].flatMap((mark) => mark?.service ?? []))];
}

/**
 * The other appointments of the visit that end with a requestor's replaced one: all of them if they can only end
 * together, else those whose steps the request books again.
 */
function besidesReplaced(
  { earlier: { replaced, previous, besides }, ...given }: PreparedAppointment,
  sent: readonly AppointmentRequest[],
  visits: ResourceSet | undefined,
): readonly Appointment[] {
  const { now, config } = given.context;
  if (previous && isPersonalOffer(previous, config)) {
    return besides; // The personal offer names the appointments that it replaces; other steps stay.
  }
  if (!replaced || given.known.role === 'staff') {
    return besides;
  }
  const named = new Set([replaced, ...besides].map(({ id }) => id));
  const isAlone = isByItself(replaced, visits, config);
  const marks =
    sent.length > 1 ? sent.flatMap((appointmentRequest) => sentMark(appointmentRequest, config).step ?? []) : [];
  const isAnew = (appointment: Appointment): boolean =>
    marks.some((mark) => isSameJson(mark, stepOf(appointment, config)));
  const following = otherAppointmentsOf(replaced, changeable(given), now, config).filter(
    (appointment) =>
      !named.has(appointment.id) &&
      sent.every(({ appointment: { value } }) => value.id !== appointment.id) &&
      !hasBegun(appointment, now) &&
      (!isAlone || isAnew(appointment)),
  );
  return [...besides, ...following];
}

/**
 * Lets only the first appointment of a request replace an appointment or fulfil a waitlist entry. Several of them can
 * name the same one if they were offered together.
 */
function endingOnce(all: readonly PreparedAppointment[]): PreparedAppointment[] {
  const known = new Set<string | undefined>();
  const first = (appointment: Appointment | undefined): Appointment[] => {
    const isFirst = appointment !== undefined && !known.has(appointment.id);
    known.add(appointment?.id);
    return isFirst ? [appointment] : [];
  };
  return all.map(({ earlier, ...one }) => {
    const [replaced] = first(earlier.replaced);
    const [answered] = first(earlier.answered);
    return { ...one, earlier: { ...earlier, replaced, answered, besides: earlier.besides.flatMap(first) } };
  });
}

interface Decided {
  readonly given: RequestContext;
  /** In the order in which they were sent. */
  readonly steps: readonly DecidedStep[];
  /** In the order of their times. */
  readonly inTime: readonly DecidedStep[];
}

type DecidedStep = Step & ReturnType<typeof decide>;

/**
 * Decides about one appointment after the other, in the order of their times. Each meets the calendar that the one
 * before leaves.
 */
function decideEach({ request }: ParsedRequest, { state, visits, known }: Reading, context: BookingContext): Decided {
  const ids = new Map<string, string>();
  const idFor = (key: string): string => {
    const id = ids.get(key) ?? context.newId();
    ids.set(key, id);
    return id;
  };
  const given: RequestContext = { state, known, context: { ...context, idFor } };
  const { appointments: sent = [], ifMatch } = request ?? {};
  const prepared = endingOnce(
    sent
      .map((appointmentRequest, index) => prepare(appointmentRequest, given, index === 0 ? ifMatch : undefined))
      .map((one) => ({ ...one, earlier: { ...one.earlier, besides: besidesReplaced(one, sent, visits) } })),
  );
  const startOf = ({ request: { interval } }: PreparedAppointment): number => interval?.start ?? 0;
  const made = new Map<PreparedAppointment, DecidedStep>();
  let calendar = calendarFor(prepared, given);
  for (const one of prepared.toSorted((a, b) => startOf(a) - startOf(b))) {
    const mark = markOf(one.request, one.earlier.previous, context.config);
    const step = { ...decide(one, calendar), mark, visits };
    made.set(one, step);
    calendar = made.size < prepared.length ? calendarAfter(step) : calendar;
  }
  return { given, steps: prepared.flatMap((one) => made.get(one) ?? []), inTime: [...made.values()] };
}

const patientsOf = ({ resolved }: Pick<PreparedAppointment, 'resolved'>): string =>
  [...resolved.participants.map(({ actor }) => actor?.reference), resolved.patient?.reference]
    .filter((one) => one?.startsWith('Patient/') || one?.startsWith('urn:'))
    .toSorted()
    .join();

/** Refuses appointments of the same patients at overlapping times. */
function overlapIssues(inTime: readonly Step[]): Issue[] {
  return inTime.flatMap((step, index): Issue[] => {
    const { appointment, interval } = step.request;
    const other = inTime
      .slice(0, index)
      .find(
        ({ request, resolved }) =>
          interval &&
          request.interval &&
          patientsOf({ resolved }) === patientsOf(step) &&
          overlaps(interval, request.interval),
      );
    const end = formatInstant(other?.request.interval?.end ?? 0);
    const diagnostics = `The appointments of one request must not overlap: another one ends at ${end}.`;
    return other ? [{ code: 'period-invalid', diagnostics, expression: `${appointment.path}.start` }] : [];
  });
}

/** Checks what concerns several appointments of a request: overlaps, patients, `If-Match`. */
function issuesTogether({ request }: ParsedRequest, { steps, inTime }: Decided): Issue[] {
  const marked = steps.filter(({ mark }) => mark);
  const forOtherPatients = marked.filter(
    (decidedStep) => marked[0] && patientsOf(decidedStep) !== patientsOf(marked[0]),
  );
  return [
    ...overlapIssues(inTime),
    ...forOtherPatients.map(({ request: { appointment } }): Issue => {
      const diagnostics = 'The appointments of a visit must be for the same patient.';
      return { code: 'patient-mismatch', diagnostics, expression: `${appointment.path}.participant` };
    }),
    ...(request?.ifMatch === undefined || steps.length === 1
      ? []
      : [
          {
            code: 'malformed-request',
            diagnostics: 'If-Match names one version: it cannot be sent with several appointments.',
            expression: 'http.If-Match',
          } as const,
        ]),
  ];
}

const malformedIn = ({ request, issues }: ParsedRequest, config: PublicConfig): Issue[] => [
  ...issues,
  ...(request?.appointments ?? []).flatMap((appointmentRequest) => sentMark(appointmentRequest, config).issues),
];

function issuesIn(parsed: ParsedRequest, decided: Decided): Issue[] {
  return [
    ...malformedIn(parsed, decided.given.context.config),
    ...uniqueIssues(
      withoutDependentIssues(
        [...decided.steps.flatMap(({ issues }) => issues), ...issuesTogether(parsed, decided)],
        parsed.unreadable,
      ),
    ),
  ];
}

/** The ids of the patients that must be read before a request is decided. */
export function patientsToRead({ request }: ParsedRequest, { state, known }: Reading, context: BookingContext) {
  const given: RequestContext = { state, known, context: { ...context, idFor: context.newId } };
  const all = (request?.appointments ?? []).map((appointmentRequest) => prepare(appointmentRequest, given));
  return { merged: all.flatMap(mergedIn), ambiguous: all.flatMap(ambiguousIn) };
}

/** The second reading for each appointment of a request, before it is decided. */
export function followingReads(parsed: ParsedRequest, reading: Reading, context: BookingContext): Following[] {
  const decided = decideEach(parsed, reading, context);
  const found = issuesIn(parsed, decided);
  return decided.steps.map((step) => {
    const following = followingOf(step, found);
    return { ...following, asksForRole: following.asksForRole || mayBeVisit(step) };
  });
}

/** The decision about a request. */
export type BookingPlan =
  /** A transaction, whose first entries are the appointments, in the order in which they were sent. */
  | { readonly kind: 'write'; readonly transaction: Bundle }
  /** Nothing to write: the same request was carried out before and booked these appointments. */
  | { readonly kind: 'existing'; readonly appointments: readonly Appointment[] }
  | {
      readonly kind: 'refuse';
      readonly issues: readonly Issue[];
      /** Slots that are free for this request alone, because it gives its own time back. */
      readonly returning?: readonly Slot[];
    };

/**
 * Decides about a booking or a hold of one appointment or several. The result is all its problems, or one transaction.
 * Every changed slot and appointment is written on condition of the version that was read, so that of two bookings of
 * the same time one fails as a whole.
 * @param parsed - the result of `parseBookRequest`
 * @param reading - the named resources and the results of `followingReads`
 * @see specification sections 3 and 4.4
 */
export function planBooking(parsed: ParsedRequest, reading: Reading, context: BookingContext): BookingPlan {
  if (!parsed.request) {
    return { kind: 'refuse', issues: parsed.issues };
  }
  const decided = decideEach(parsed, reading, context);
  const { steps } = decided;
  const found = issuesIn(parsed, decided);
  const existing = steps.flatMap((decidedStep) => findExistingBooking(decidedStep) ?? []);
  if (existing.length === steps.length && malformedIn(parsed, context.config).length === 0) {
    return { kind: 'existing', appointments: existing };
  }
  const limits = [
    ...steps.flatMap((decidedStep) => limitIssues(decidedStep, found.length === 0)),
    ...visitRuleIssues(steps),
  ];
  const issues = [...found, ...uniqueIssues(withoutDependentIssues(limits, parsed.unreadable))];
  return issues.length > 0
    ? { kind: 'refuse', issues, returning: steps.slice(0, 1).flatMap(freedForRequest) }
    : { kind: 'write', transaction: transactionOf(decided) };
}

const linking: readonly string[] = [PREVIOUS, ORIGINATING, RECURRENCE_ID];

/** The extensions for appointments of a series: a reference to the first one, and the number in the series. */
function seriesLinks({ mark, visits, context }: Step, first: string | undefined): Extension[] {
  const isSeries = mark && visitOf(mark.service, visits, context.config)?.series !== undefined;
  return isSeries
    ? [
        ...(first ? [{ url: ORIGINATING, valueReference: { reference: first } }] : []),
        { url: RECURRENCE_ID, valuePositiveInt: Number(mark.step) },
      ]
    : [];
}

/** The stored links of a moved appointment, except links to appointments that are moved with it. */
const keptLinks = ({ earlier: { previous }, rewritten }: Step): Extension[] =>
  (previous?.extension ?? []).filter(
    ({ url, valueReference }) =>
      linking.includes(url) && !rewritten.includes(idIn(valueReference, 'Appointment') ?? ''),
  );

/** The group identifier of an appointment, and the extension that names its step. */
function ties(step: Step, group: string | undefined, links: readonly Extension[], fullUrl?: string): Ties {
  const { request, context } = step;
  const mark = sentMark(request, context.config).step;
  return {
    identifier: group ? [{ system: artefactUri(context.config, 'LocalVisitGroup'), value: group }] : [],
    extension: [...links, ...(mark ? [stepExtension(mark, context.config)] : [])],
    extensionUrls: group ? linking : [],
    fullUrl,
  };
}

/** The ties of a patient's only appointment in a request. It may replace an appointment of a visit. */
function tiesAtTime(step: Step): Ties {
  const { mark, earlier, context } = step;
  const { replaced } = earlier;
  const group = replaced && visitGroupOf(replaced, context.config);
  const isSame = mark !== undefined && replaced && stepOf(replaced, context.config)?.service === mark.service;
  const links = (replaced?.extension ?? []).filter(({ url }) => linking.includes(url));
  return group && isSame ? ties(step, group, links) : ties(step, undefined, []);
}

/** The ties between the appointments of one patient, which are in the order of their times. */
function tiesTogether(inTime: readonly Step[], newId: () => string): [Step, Ties][] {
  const [first] = inTime;
  if (!first || inTime.length === 1) {
    return inTime.map((step) => [step, tiesAtTime(step)]);
  }
  const { config } = first.context;
  const [stored] = inTime.flatMap(({ earlier: { previous } }) => (previous && visitGroupOf(previous, config)) ?? []);
  const group = stored ?? newId().replace('urn:uuid:', '');
  const urls = inTime.map(({ earlier: { previous } }) => (previous ? undefined : newId()));
  const references = inTime.map(({ earlier }, index) => urls[index] ?? `Appointment/${earlier.previous?.id}`);
  return inTime.map((step, index) => {
    const [origin, previous] = index > 0 ? [references[0], references[index - 1]] : [];
    const made = [
      ...(previous ? [{ url: PREVIOUS, valueReference: { reference: previous } }] : []),
      ...seriesLinks(step, origin),
    ];
    // The number in the series may have changed.
    const kept = keptLinks(step).filter(({ url }) => url !== RECURRENCE_ID || made.every((link) => link.url !== url));
    const links = made.filter(({ url }) => !kept.some((link) => link.url === url));
    return [step, ties(step, group, [...kept, ...links], urls[index])];
  });
}

/**
 * The transaction of an accepted request. Its first entries are the appointments, in the order of the request.
 * @see specification 2.1 and section 3
 */
function transactionOf({ given, steps, inTime }: Decided): Bundle {
  const { newId } = given.context;
  const families = [...Map.groupBy(inTime, patientsOf).values()];
  const tied = new Map(families.flatMap((family) => tiesTogether(family, newId)));
  const answers = new Map<Step, readonly BundleEntry[]>(
    families.flatMap((family) => {
      const [first] = family;
      const about = [...new Set(family.flatMap(({ request }) => request.answers))];
      const entries = first ? questionnaireResponseEntries({ answers: about }, first.resolved, given.context) : [];
      return family.map((one) => [one, entries] as const);
    }),
  );
  const terms = termsOf(inTime);
  const taken = inTime.map((decidedStep) => ({ ...decidedStep, outcome: outcomeOf(decidedStep, terms) }));
  const stored = steps.map((decidedStep) =>
    appointmentEntries(
      decidedStep,
      outcomeOf(decidedStep, terms),
      answers.get(decidedStep) ?? [],
      tied.get(decidedStep),
    ),
  );
  const persons = new Map(steps.flatMap(({ resolved }) => resolved.entries.map((entry) => [entry.fullUrl, entry])));
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      ...stored.flatMap((entries) => entries.slice(0, 1)),
      ...stored.flatMap((entries) => entries.slice(1)),
      ...slotEntries(taken),
      ...persons.values(),
      ...new Set([...answers.values()].flat()),
      ...takeoverEntries(given),
      ...usedQuotaEntries(steps, given),
    ],
  };
}
