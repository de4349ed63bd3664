import type { Appointment, Bundle, BundleEntry, Extension, Slot } from '@medplum/fhirtypes';
import { isPersonalOffer } from '../booking/appointment/expiry.ts';
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
import { calendarAfter, decide } from '../booking/booking/decide.ts';
import { ambiguousIn, type Following, followingOf, mergedIn } from '../booking/booking/following.ts';
import { findExistingBooking } from '../booking/booking/idempotency.ts';
import type { BookingContext, Knowledge } from '../booking/booking/knowledge.ts';
import { limitIssues } from '../booking/booking/rules.ts';
import {
  calendarFor,
  changeable,
  freedForRequest,
  type Given,
  type Prepared,
  prepare,
} from '../booking/booking/situation.ts';
import type { AppointmentRequest, ParsedRequest } from '../booking/request/request.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isSameJson } from '../fhir/json.ts';
import { type Issue, uniqueIssues, withoutDependentIssues } from '../fhir/outcome/outcome.ts';
import { idIn } from '../fhir/reference.ts';
import { ORIGINATING, PREVIOUS, RECURRENCE_ID } from '../fhir/reserved.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { type SearchQuery, search } from '../rows/search.ts';
import { overlaps } from '../time/interval.ts';
import { isByItself, otherAppointmentsOf, readStepMark, visitGroupOf, visitOf, wasHeld } from './group.ts';
import { mayBeVisit, type Step, visitRuleIssues } from './rules.ts';
import { type StepMark, stepExtension, stepOf } from './visit.ts';

/** What a request is decided by. */
export interface Reading {
  /** What the caller may see of everything that the request names and leads to. */
  readonly state: ResourceSet;
  /** The services that say what visits need, read with the Bot's own rights: portals see no pools. */
  readonly visits?: ResourceSet | undefined;
  readonly known: Knowledge;
}

/** Which step of a visit an appointment says that it is, and why that cannot be read. */
const sentMark = ({ appointment: { sent = {}, path } }: AppointmentRequest, config: PublicConfig) =>
  readStepMark(sent, path, config);

/** Which step of a visit an appointment of a request is to be, or is. */
export function markOf(
  request: AppointmentRequest,
  stored: Appointment | undefined,
  config: PublicConfig,
): StepMark | undefined {
  return sentMark(request, config).step ?? (stored && stepOf(stored, config));
}

/** The searches for what was booked together with the appointments that a request moves or replaces. */
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

/** Ids of the services that say what the visits need to which the appointments of a request belong, or stored ones. */
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
 * The others that were booked with the one that is replaced and end with it, if it is a requestor's: all of them where they
 * only end together, else those in whose place others are booked at once.
 */
function besidesReplaced(
  { earlier: { replaced, previous, besides }, ...given }: Prepared,
  sent: readonly AppointmentRequest[],
  visits: ResourceSet | undefined,
): readonly Appointment[] {
  const { now, config } = given.context;
  if (previous && isPersonalOffer(previous, config)) {
    return besides; // It says itself what it takes the place of; other steps stay.
  }
  if (!replaced || given.known.role === 'repository') {
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
      !wasHeld(appointment, now) &&
      (!isAlone || isAnew(appointment)),
  );
  return [...besides, ...following];
}

/** What several appointments of a request bring to its end, because they are offered for it together, ends once. */
function endingOnce(all: readonly Prepared[]): Prepared[] {
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

/** The decisions about the appointments of a request. */
interface Decided {
  readonly given: Given;
  /** In the order in which they were sent. */
  readonly steps: readonly DecidedStep[];
  /** In the order of their times. */
  readonly inTime: readonly DecidedStep[];
}

type DecidedStep = Step & ReturnType<typeof decide>;

/** Decides about one appointment after the other: the calendar after the first is what the second meets. */
function decideEach({ request }: ParsedRequest, { state, visits, known }: Reading, context: BookingContext): Decided {
  const ids = new Map<string, string>();
  const idFor = (key: string): string => {
    const id = ids.get(key) ?? context.newId();
    ids.set(key, id);
    return id;
  };
  const given: Given = { state, known, context: { ...context, idFor } };
  const { appointments: sent = [], ifMatch } = request ?? {};
  const prepared = endingOnce(
    sent
      .map((appointmentRequest, index) => prepare(appointmentRequest, given, index === 0 ? ifMatch : undefined))
      .map((one) => ({ ...one, earlier: { ...one.earlier, besides: besidesReplaced(one, sent, visits) } })),
  );
  const startOf = ({ request: { interval } }: Prepared): number => interval?.start ?? 0;
  const made = new Map<Prepared, DecidedStep>();
  let calendar = calendarFor(prepared, given);
  for (const one of prepared.toSorted((a, b) => startOf(a) - startOf(b))) {
    const mark = markOf(one.request, one.earlier.previous, context.config);
    const step = { ...decide(one, calendar), mark, visits };
    made.set(one, step);
    calendar = made.size < prepared.length ? calendarAfter(step) : calendar;
  }
  return { given, steps: prepared.flatMap((one) => made.get(one) ?? []), inTime: [...made.values()] };
}

/** The patients of an appointment as one text. */
const patientsOf = ({ resolved }: Pick<Prepared, 'resolved'>): string =>
  [...resolved.participants.map(({ actor }) => actor?.reference), resolved.patient?.reference]
    .filter((one) => one?.startsWith('Patient/') || one?.startsWith('urn:'))
    .toSorted()
    .join();

/** A person cannot be at two places at once. */
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

/** The problems of several appointments that are booked at once, beside those of each. */
function issuesTogether({ request }: ParsedRequest, { steps, inTime }: Decided): Issue[] {
  const marked = steps.filter(({ mark }) => mark);
  const strangers = marked.filter((decidedStep) => marked[0] && patientsOf(decidedStep) !== patientsOf(marked[0]));
  return [
    ...overlapIssues(inTime),
    ...strangers.map(({ request: { appointment } }): Issue => {
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

/** What is wrong with the form of a request. */
const malformedIn = ({ request, issues }: ParsedRequest, config: PublicConfig): Issue[] => [
  ...issues,
  ...(request?.appointments ?? []).flatMap((appointmentRequest) => sentMark(appointmentRequest, config).issues),
];

/** What is wrong with a request, apart from its limits. */
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

/** The patients about whom more must be known before a request is decided, by their ids. */
export function patientsToRead({ request }: ParsedRequest, { state, known }: Reading, context: BookingContext) {
  const given: Given = { state, known, context: { ...context, idFor: context.newId } };
  const all = (request?.appointments ?? []).map((appointmentRequest) => prepare(appointmentRequest, given));
  return { merged: all.flatMap(mergedIn), ambiguous: all.flatMap(ambiguousIn) };
}

/** What follows from a request, to be read before it is decided. */
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
 * Decides about a booking or a hold of one appointment or several: gives all its problems, or the one transaction that
 * carries it out. Every slot and appointment that is changed is written on condition of the version that was read, so that of
 * two bookings of the same time one fails as a whole.
 *
 * @param parsed - the request as read by `parseBookRequest`
 * @param reading - what was read for it: what it names, and what follows from that (`followingReads`)
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

/** The extensions that link an appointment to others of its visit. */
const linking: readonly string[] = [PREVIOUS, ORIGINATING, RECURRENCE_ID];

/** What the appointments of a series say besides: the first of them, and which they are. */
function seriesLinks({ mark, visits, context }: Step, first: string | undefined): Extension[] {
  const isSeries = mark && visitOf(mark.service, visits, context.config)?.series !== undefined;
  return isSeries
    ? [
        ...(first ? [{ url: ORIGINATING, valueReference: { reference: first } }] : []),
        { url: RECURRENCE_ID, valuePositiveInt: Number(mark.step) },
      ]
    : [];
}

/** The stored links of an appointment that is moved, but those to others that are moved with it. */
const keptLinks = ({ earlier: { previous }, rewritten }: Step): Extension[] =>
  (previous?.extension ?? []).filter(
    ({ url, valueReference }) =>
      linking.includes(url) && !rewritten.includes(idIn(valueReference, 'Appointment') ?? ''),
  );

/** What ties an appointment to a group, and the extension that says which step it is. */
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

/** The ties of the only appointment of a patient, which may take the place of another in its visit. */
function tiesInPlace(step: Step): Ties {
  const { mark, earlier, context } = step;
  const { replaced } = earlier;
  const group = replaced && visitGroupOf(replaced, context.config);
  const isSame = mark !== undefined && replaced && stepOf(replaced, context.config)?.service === mark.service;
  const links = (replaced?.extension ?? []).filter(({ url }) => linking.includes(url));
  return group && isSame ? ties(step, group, links) : ties(step, undefined, []);
}

/**
 * What ties the appointments of one patient together.
 *
 * @param inTime - in the order of their times
 */
function tiesTogether(inTime: readonly Step[], newId: () => string): [Step, Ties][] {
  const [first] = inTime;
  if (!first || inTime.length === 1) {
    return inTime.map((step) => [step, tiesInPlace(step)]);
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
    // Which one of the series it is may have changed.
    const kept = keptLinks(step).filter(({ url }) => url !== RECURRENCE_ID || made.every((link) => link.url !== url));
    const links = made.filter(({ url }) => !kept.some((link) => link.url === url));
    return [step, ties(step, group, [...kept, ...links], urls[index])];
  });
}

/**
 * The one transaction that carries a request out. Its first entries are the appointments, in the order of the request.
 *
 * @see specification 2.1 and section 3
 */
function transactionOf({ given, steps, inTime }: Decided): Bundle {
  const { newId } = given.context;
  const families = [...Map.groupBy(inTime, patientsOf).values()];
  const tied = new Map(families.flatMap((family) => tiesTogether(family, newId)));
  const answers = new Map<Step, readonly BundleEntry[]>(
    families.flatMap((family) => {
      const [first] = family;
      const entries = first ? questionnaireResponseEntries(first.request, first.resolved, given.context) : [];
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
