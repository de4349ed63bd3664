import type {
  Appointment,
  AppointmentParticipant,
  Bundle,
  BundleEntry,
  Coding,
  Extension,
  Meta,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference.ts';
import { ORIGINATING, PREVIOUS, RECURRENCE_ID, REPLACES } from '../../fhir/reserved.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { markChange, metaOfSubmitted, ownerOf } from '../../fhir/tags.ts';
import { calendarEntries, slotChanges } from '../../slots/entries.ts';
import { settle, withTaken } from '../../slots/settle.ts';
import { bufferSlots } from '../../slots/terms.ts';
import { visitGroupOf, visitOf } from '../../visits/group.ts';
import { stepExtension, stepOf } from '../../visits/visit.ts';
import {
  afterItsEnd,
  answeredReason,
  DEFAULT_HOLD,
  deadlineExtensions,
  hasRunOut,
  holdExtensions,
  offerExtensions,
} from '../appointment/expiry.ts';
import { neededSlotStatus } from '../appointment/status.ts';
import { withSubmitted } from '../appointment/submitted.ts';
import { withRequestTasks } from '../jobs/confirmation-task.ts';
import { quotaEntries } from '../policy/quota.ts';
import type { BookingContext } from './knowledge.ts';
import type { EarlierAppointments } from './reschedule.ts';
import { confirmationOf } from './service-type.ts';
import {
  buffersOf,
  calendarAt,
  isForSame,
  isForStaffToKeep,
  type Situation,
  schedulesIn,
  settling,
} from './situation.ts';

/** What the service itself sets in an appointment. */
interface Result {
  readonly status: 'booked' | 'pending' | 'proposed';
  /** Extensions that the service itself sets. */
  readonly extension: readonly Extension[];
}

/**
 * A hold for the shortest time that a policy gives, from now on, otherwise for ten minutes. A hold that has not expired yet
 * can be extended, but only once.
 */
function held({ earlier: { previous }, context: { now, config } }: Situation, all: readonly Situation[]): Result {
  const lengths = policiesOf(all).flatMap(({ policy }) => policy.holdFor ?? []);
  const until = now + Math.min(...(lengths.length > 0 ? lengths : [DEFAULT_HOLD]));
  const isProlonging = previous !== undefined && !hasRunOut('hold', previous, now, config);
  return { status: 'proposed', extension: holdExtensions(until, isProlonging, config) };
}

/**
 * Confirmed at once or requested, as the clinic has configured; what staff move or book again is confirmed. If one of several
 * has to be confirmed by hand, all have, by the same moment.
 */
function bookedOrRequested({ known, context }: Situation, all: readonly Situation[]): Result {
  const { now, config } = context;
  const isKept = known.role === 'repository' && all.every(isForStaffToKeep);
  const schedules = all.flatMap((one) => one.selected.slots.flatMap((slot) => calendarAt(slot, one) ?? []));
  if (isKept || confirmationOf(schedules, config) === 'automatic') {
    return { status: 'booked', extension: [] };
  }
  const first = all.find(({ before }) => before.length === 0);
  const { interval = { start: now, end: now } } = first?.request ?? {};
  const extension = deadlineExtensions(policiesOf(all), interval, first?.earlier.previous, now, config);
  return { status: 'pending', extension };
}

const policiesOf = (all: readonly Situation[]) => all.flatMap(({ verdict }) => verdict.policies);

/**
 * What an appointment becomes if there is nothing against it: booked or requested, held for some minutes, or offered.
 *
 * @param all - all appointments of its request, which end together
 */
function resultOf(situation: Situation, all: readonly Situation[]): Result {
  const { purpose, offer, config } = situation.context;
  if (offer) {
    return { status: 'proposed', extension: offerExtensions(offer, config) };
  }
  return purpose === 'hold' ? held(situation, all) : bookedOrRequested(situation, all);
}

/** The elements of the appointment that are set by the booking, not by the request. */
interface Outcome extends Result {
  readonly slotIds: readonly string[];
  readonly participants: readonly AppointmentParticipant[];
  /** References to the submitted answers. */
  readonly answers: readonly string[];
  readonly visit: Visit | undefined;
}

/** What ties an appointment to the others of its request. */
interface Visit {
  readonly group: string;
  /** The extensions that link it to others. */
  readonly links: readonly Extension[];
  /** The `urn:uuid:` of its entry, if it is new. */
  readonly fullUrl: string | undefined;
}

/** One appointment that takes the place of another in its visit. */
function inPlaceOf({ mark, earlier: { replaced }, context: { config } }: Situation): Visit | undefined {
  const group = replaced && visitGroupOf(replaced, config);
  const isSame = mark !== undefined && replaced && stepOf(replaced, config)?.service === mark.service;
  const links = (replaced?.extension ?? []).filter(({ url }) => linking.includes(url));
  return group && isSame ? { group, links, fullUrl: undefined } : undefined;
}

/** The extensions that link an appointment to others of its visit. */
const linking: readonly string[] = [PREVIOUS, ORIGINATING, RECURRENCE_ID];

/** What the appointments of a series say besides: the first of them, and which they are. */
function seriesLinks({ mark, known, context }: Situation, first: string | undefined): Extension[] {
  const isSeries = mark && visitOf(mark.service, known.visits, context.config)?.series !== undefined;
  return isSeries
    ? [
        ...(first ? [{ url: ORIGINATING, valueReference: { reference: first } }] : []),
        { url: RECURRENCE_ID, valuePositiveInt: Number(mark.step) },
      ]
    : [];
}

/** The stored links of an appointment that is moved, but those to others that are moved with it. */
const keptLinks = ({ earlier: { previous }, rewritten }: Situation): Extension[] =>
  (previous?.extension ?? []).filter(
    ({ url, valueReference }) =>
      linking.includes(url) && !rewritten.includes(idIn(valueReference, 'Appointment') ?? ''),
  );

/** The appointments of a request by their patients. */
function byPatients(situations: readonly Situation[]): Situation[][] {
  const groups: Situation[][] = [];
  for (const one of situations) {
    const group = groups.find(([other]) => other && isForSame(one, other));
    if (group) {
      group.push(one);
    } else {
      groups.push([one]);
    }
  }
  return groups;
}

/** What ties the appointments of one patient together; nothing if it is only one. */
function visitsOf(situations: readonly Situation[]): ReadonlyMap<Situation, Visit> {
  const [first] = situations;
  if (!first || situations.length === 1) {
    const place = first && inPlaceOf(first);
    return new Map(first && place ? [[first, place]] : []);
  }
  const { newId, config } = first.context;
  const stored = situations.flatMap(({ earlier: { previous } }) => (previous && visitGroupOf(previous, config)) ?? []);
  const group = stored[0] ?? newId().replace('urn:uuid:', '');
  const urls = new Map(situations.map((one) => [one, one.earlier.previous ? undefined : newId()]));
  const referenceOf = (one: Situation | undefined): string | undefined =>
    one && (urls.get(one) ?? `Appointment/${one.earlier.previous?.id}`);
  const before = (one: Situation): Situation[] => one.before.filter((other) => situations.includes(other));
  const origin = referenceOf(situations.find((one) => before(one).length === 0));
  return new Map(
    situations.map((one) => {
      const previous = referenceOf(before(one).at(-1));
      const made = [
        ...(previous ? [{ url: PREVIOUS, valueReference: { reference: previous } }] : []),
        ...seriesLinks(one, before(one).length > 0 ? origin : undefined),
      ];
      // Which one of the series it is may have changed.
      const kept = keptLinks(one).filter(({ url }) => url !== RECURRENCE_ID || made.every((link) => link.url !== url));
      const links = made.filter(({ url }) => !kept.some((link) => link.url === url));
      return [one, { group, links: [...kept, ...links], fullUrl: urls.get(one) }];
    }),
  );
}

/** The entries that store the submitted answers, with the patient of the booking as subject. */
export function answersEntries(
  { answers }: Pick<Situation['request'], 'answers'>,
  { patient }: Pick<Situation['resolved'], 'patient'>,
  { requestor, config, newId }: Pick<BookingContext, 'requestor' | 'config' | 'newId'>,
): BundleEntry[] {
  const profile = artefactUri(config, 'LocalQuestionnaireResponse');
  return answers.map(({ value }) => {
    const { id: _, meta, ...response } = value;
    return {
      fullUrl: newId(),
      request: { method: 'POST', url: 'QuestionnaireResponse' },
      resource: {
        ...response,
        meta: metaOfSubmitted(meta, requestor, config, [profile]),
        ...(patient && { subject: patient }),
      },
    };
  });
}

/** The requestor of an appointment stays its owner, even if the clinic's staff move it; what is the clinic's own stays so. */
function ownerAfter(previous: Appointment | undefined, { requestor, config }: BookingContext): string {
  return previous ? (ownerOf(previous, config) ?? '') : requestor;
}

function extensionsOf(
  { appointment: { value, step } }: Situation['request'],
  { replaced, besides }: EarlierAppointments,
  visit: Visit | undefined,
  config: BookingContext['config'],
): Extension[] {
  const set: Extension[] = [
    ...[replaced, ...besides].flatMap((one) =>
      one ? [{ url: REPLACES, valueReference: { reference: `Appointment/${one.id}` } }] : [],
    ),
    ...(visit?.links ?? []),
    ...(step ? [stepExtension(step, config)] : []),
  ];
  const isSet = ({ url }: Extension): boolean =>
    set.some((one) => one.url === url) || (visit !== undefined && linking.includes(url));
  return [...(value.extension ?? []).filter((one) => !isSet(one)), ...set];
}

/** The identifiers of an appointment, among them the one that all of its request have. */
function identifiersOf({ identifier = [] }: Appointment, visit: Visit | undefined, config: BookingContext['config']) {
  const system = artefactUri(config, 'LocalVisitGroup');
  return visit ? [...identifier.filter((one) => one.system !== system), { system, value: visit.group }] : identifier;
}

/** The participant of a hold that names none: FHIR requires one. A hold is not a LocalTermin yet. */
const unnamedPatient: AppointmentParticipant = {
  type: [{ text: 'Patient, not named yet' }],
  required: 'required',
  status: 'needs-action',
};

const isSameTag = (one: Coding, other: Coding): boolean => one.system === other.system && one.code === other.code;

/** The `meta` of the appointment: what was sent, and the tags, profiles and labels that it already has. */
function metaOf(
  sent: Meta | undefined,
  { earlier: { previous }, context }: Situation,
  profiles: readonly string[],
): Meta {
  const { tag = [], profile = [], security } = previous?.meta ?? {};
  const tags = [...(sent?.tag ?? []), ...tag.filter((one) => !sent?.tag?.some((other) => isSameTag(one, other)))];
  const known = profiles.length > 0 ? [...(sent?.profile ?? []), ...profile] : [];
  const owner = ownerAfter(previous, context);
  return {
    ...metaOfSubmitted({ tag: tags, profile: known }, owner, context.config, profiles),
    ...(security && { security }),
  };
}

function appointmentOf(situation: Situation, outcome: Outcome): Appointment {
  const { request, earlier, context } = situation;
  const { id: _, meta, extension: __, ...sent } = request.appointment.value;
  const { interval } = request;
  const extension = [...extensionsOf(request, earlier, outcome.visit, context.config), ...outcome.extension];
  const identifier = identifiersOf(sent, outcome.visit, context.config);
  const answers = outcome.answers.map((reference) => ({ reference }));
  const supportingInformation = [...(sent.supportingInformation ?? []), ...answers];
  const profiles = outcome.status === 'proposed' ? [] : [artefactUri(context.config, 'LocalTermin')];
  return {
    ...sent,
    meta: metaOf(meta, situation, profiles),
    ...(extension.length > 0 && { extension }),
    ...(identifier.length > 0 && { identifier }),
    status: outcome.status,
    ...(interval && { start: formatInstant(interval.start), end: formatInstant(interval.end) }),
    slot: outcome.slotIds.map((id) => ({ reference: id.startsWith('urn:') ? id : `Slot/${id}` })),
    participant: outcome.participants.length > 0 ? [...outcome.participants] : [unnamedPatient],
    ...(supportingInformation.length > 0 && { supportingInformation }),
  };
}

/**
 * A transaction entry that changes a stored appointment, if it still has the version that was read, and records on whose
 * behalf.
 */
function changeEntry(stored: Appointment, changed: Appointment, { requestor, config }: BookingContext): BundleEntry {
  const meta = markChange(changed.meta, requestor, stored.meta?.versionId, config);
  return updateEntry(stored, { ...changed, id: stored.id, meta });
}

/** A transaction entry that creates an appointment and records on whose behalf; an offer is the service's own. */
function createEntry(
  appointment: Appointment,
  fullUrl: string | undefined,
  { requestor, offer, config }: BookingContext,
): BundleEntry {
  const meta = offer ? appointment.meta : markChange(appointment.meta, requestor, undefined, config);
  const request = { method: 'POST', url: 'Appointment' } as const;
  return { ...(fullUrl && { fullUrl }), request, resource: { ...appointment, meta } };
}

/** The entries that store the appointment (the first one), cancel the one that it replaces, and end a waitlist entry. */
function appointmentEntries(situation: Situation, outcome: Outcome): BundleEntry[] {
  const { earlier, context, resolved, submitted } = situation;
  const { previous, replaced, besides, answered } = earlier;
  const sent = appointmentOf(situation, outcome);
  // Whoever stands in for somebody whom the clinic has added is not the requestor's either.
  const before = previous && { ...previous, participant: [...previous.participant, ...(resolved.kept ?? [])] };
  const appointment = withSubmitted(sent, before, context.requestor, context.config, submitted);
  const ending = [...(replaced ? [replaced] : []), ...besides];
  const fullUrl = outcome.visit?.fullUrl ?? (ending.length > 0 ? context.newId() : undefined);
  const successor: Extension = {
    url: artefactUri(context.config, 'LocalReplacedBy'),
    valueReference: { reference: previous ? `Appointment/${previous.id}` : fullUrl },
  };
  return [
    previous ? changeEntry(previous, appointment, context) : createEntry(appointment, fullUrl, context),
    ...ending.map((one) =>
      changeEntry(one, { ...one, status: 'cancelled', extension: [...(one.extension ?? []), successor] }, context),
    ),
    ...(answered
      ? [
          changeEntry(
            answered,
            { ...answered, status: 'cancelled', cancelationReason: answeredReason(context.config) },
            context,
          ),
        ]
      : []),
  ];
}

/**
 * The slots as the booking leaves them: those that it takes are narrowed to its time, its buffers are written, and all
 * offers that this excludes, or no longer excludes, are settled. What it releases is noted for those who wait.
 *
 * @param last - the last appointment of the request, in whose calendar those before it have taken their time
 */
function slotEntriesOf(last: Situation, outcomes: ReadonlyMap<Situation, Outcome>): BundleEntry[] {
  const { stored, calendar, context } = last;
  const { config, newId, now, onReleased = () => [] } = context;
  const taken = [...outcomes].reduce((all, [{ request, selected }, outcome]) => {
    const status = outcome.status === 'proposed' ? 'busy-tentative' : neededSlotStatus(outcome);
    const ids = selected.slots.map(({ id }) => id);
    return status && request.interval ? withTaken(all, ids, request.interval, status) : all;
  }, calendar);
  const buffers = [...outcomes.keys()].flatMap((situation) =>
    [...buffersOf(situation).values()].flatMap(({ slot, buffers: needed }) =>
      bufferSlots(situation.request.interval ?? { start: 0, end: 0 }, slot, needed, newId, config),
    ),
  );
  const after = new Map([...taken, ...buffers.map((buffer) => [buffer.id, buffer] as const)]);
  const settled = settle(calendar, after, { ...settling(last), stored });
  return [
    ...calendarEntries(stored, settled, config),
    ...onReleased(slotChanges(stored, settled, config), schedulesIn(last), now, config),
  ];
}

/** The entries that end holds and requests whose time has run out. */
function takeoverEntries({ known: { fragments }, context: { now, config } }: Situation): BundleEntry[] {
  return (fragments?.expired ?? []).map((one) => updateEntry(one, afterItsEnd(one, now, config)));
}

function usedQuotaEntries(situations: readonly Situation[], { known, context: { config } }: Situation): BundleEntry[] {
  const quotas = known.role === 'requestor' ? situations.flatMap(({ verdict }) => verdict.quotas) : [];
  return quotaEntries(known.usage ?? new Map(), quotas, config);
}

/**
 * The one transaction that carries a booking out. Its first entries are the appointments, in the order of the request.
 *
 * @see specification 2.1 and section 3
 */
export function transactionOf(situations: readonly Situation[]): Bundle {
  const last = situations.reduce((one, other) => (other.before.length > one.before.length ? other : one));
  const groups = byPatients(situations);
  const answers = new Map(
    groups.flatMap((group) => {
      const [first] = group;
      const entries = first ? answersEntries(first.request, first.resolved, first.context) : [];
      return group.map((one) => [one, entries] as const);
    }),
  );
  const visits = new Map(groups.flatMap((group) => [...visitsOf(group)]));
  const outcomes = new Map(
    situations.map((situation): [Situation, Outcome] => [
      situation,
      {
        ...resultOf(situation, situations),
        slotIds: situation.selected.slots.map(({ id }) => id),
        participants: situation.resolved.participants,
        answers: (answers.get(situation) ?? []).flatMap(({ fullUrl }) => fullUrl ?? []),
        visit: visits.get(situation),
      },
    ]),
  );
  const stored = [...outcomes].map(([situation, outcome]) => {
    const { resolved, known, context } = situation;
    const entries = appointmentEntries(situation, outcome);
    return withRequestTasks(entries, resolved.patient, known.tasks ?? [], context);
  });
  const entry: BundleEntry[] = [
    ...stored.flatMap((entries) => entries.slice(0, 1)),
    ...stored.flatMap((entries) => entries.slice(1)),
    ...slotEntriesOf(last, outcomes),
    ...situations.flatMap(({ resolved }) => resolved.entries),
    ...new Set([...answers.values()].flat()),
    ...takeoverEntries(last),
    ...usedQuotaEntries(situations, last),
  ];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}
