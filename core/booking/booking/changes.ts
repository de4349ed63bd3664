import type {
  Appointment,
  AppointmentParticipant,
  BundleEntry,
  Coding,
  Extension,
  Identifier,
  Meta,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { markChange, metaOfSubmitted, ownerOf, REPLACES } from '../../fhir/tags.ts';
import { calendarEntries, slotChanges } from '../../slots/entries.ts';
import { settle, withTaken } from '../../slots/settle.ts';
import { bufferSlots, type ScheduleServices, withNamedServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import { withSubmitted } from '../appointment/elements.ts';
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
import { withRequestTasks } from '../jobs/confirmation-task.ts';
import type { EffectivePolicy } from '../policy/policy.ts';
import { quotaEntries } from '../policy/quota.ts';
import type { BookingContext } from './apply-policy.ts';
import {
  type BookingDecision,
  buffersOf,
  calendarAt,
  isForStaffToKeep,
  type PreparedAppointment,
  type RequestContext,
  schedulesIn,
  settling,
} from './booking-calendar.ts';
import { confirmationOf, storedServiceTypes } from './service-type.ts';

interface Outcome {
  readonly status: 'booked' | 'pending' | 'proposed';
  /** Extensions that the service itself sets. */
  readonly extension: readonly Extension[];
}

/**
 * The inputs for the outcome. All appointments of a request share them, because they are confirmed and end together.
 */
interface Terms {
  readonly policies: readonly EffectivePolicy[];
  readonly schedules: readonly ScheduleServices[];
  /** Whether staff confirm the appointment by sending it again. */
  readonly isKept: boolean;
  /** The time of the first appointment. The clinic must confirm all of them before its start. */
  readonly interval: Interval | undefined;
  /** The first appointment as it is stored, if it is sent again. */
  readonly previous: Appointment | undefined;
}

/** The terms of appointments, in the order of their times. */
export function termsOf(decisions: readonly BookingDecision[]): Terms {
  const [first] = decisions;
  return {
    policies: decisions.flatMap(({ result }) => result.policies),
    schedules: decisions.flatMap((decision) =>
      decision.selected.slots.flatMap((slot) => calendarAt(slot, decision) ?? []),
    ),
    isKept: first?.known.role === 'staff' && decisions.every(isForStaffToKeep),
    interval: first?.request.interval,
    previous: first?.earlier.previous,
  };
}

/** A hold for the shortest time in the policies, else ten minutes. An unexpired one can be extended once. */
function heldOutcome(
  { policies }: Terms,
  { earlier: { previous }, context: { now, config } }: BookingDecision,
): Outcome {
  const lengths = policies.flatMap(({ policy }) => policy.holdFor ?? []);
  const until = now + Math.min(...(lengths.length > 0 ? lengths : [DEFAULT_HOLD]));
  const isProlonging = previous !== undefined && !hasRunOut('hold', previous, now, config);
  return { status: 'proposed', extension: holdExtensions(until, isProlonging, config) };
}

/**
 * Decides the status: proposed for a personal offer or a hold, otherwise booked or pending, as the clinic has
 * configured the confirmation.
 */
export function outcomeOf(decision: BookingDecision, terms: Terms): Outcome {
  const { purpose, offer, now, config } = decision.context;
  if (offer) {
    return { status: 'proposed', extension: offerExtensions(offer, config) };
  }
  if (purpose === 'hold') {
    return heldOutcome(terms, decision);
  }
  const { policies, schedules, isKept, previous, interval = { start: now, end: now } } = terms;
  const { serviceType } = decision.request.appointment.value;
  const named = schedules.map((schedule) => withNamedServices(schedule, serviceType));
  return isKept || confirmationOf(named, config) === 'automatic'
    ? { status: 'booked', extension: [] }
    : { status: 'pending', extension: deadlineExtensions(policies, interval, previous, now, config) };
}

/** The entries that store the submitted QuestionnaireResponses, with the patient of the booking as subject. */
export function questionnaireResponseEntries(
  { answers }: Pick<BookingDecision['request'], 'answers'>,
  { patient }: Pick<BookingDecision['resolved'], 'patient'>,
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

/** The owner stays, even if staff move the appointment. One of the clinic stays without an owner (`''`). */
function ownerAfter(previous: Appointment | undefined, { requestor, config }: BookingContext): string {
  return previous ? (ownerOf(previous, config) ?? '') : requestor;
}

/** Elements of an appointment that belongs to others, such as the appointments of a visit. */
export interface Ties {
  readonly identifier: readonly Identifier[];
  readonly extension: readonly Extension[];
  /** The URLs of all extensions of this kind. Submitted extensions with these URLs are dropped. */
  readonly extensionUrls: readonly string[];
  /** The `urn:uuid:` of its entry, if it is new and other entries refer to it. */
  readonly fullUrl?: string | undefined;
}

const noTies: Ties = { identifier: [], extension: [], extensionUrls: [] };

/** The extensions of an appointment: the submitted ones, and references to the appointments that it replaces. */
function extensionsOf(
  { request, earlier: { replaced, besides } }: PreparedAppointment,
  { extension, extensionUrls }: Ties,
) {
  const set: Extension[] = [
    ...[replaced, ...besides].flatMap((appointment) =>
      appointment ? [{ url: REPLACES, valueReference: { reference: `Appointment/${appointment.id}` } }] : [],
    ),
    ...extension,
  ];
  const isSet = ({ url }: Extension): boolean => extensionUrls.includes(url) || set.some((one) => one.url === url);
  return [...(request.appointment.value.extension ?? []).filter((one) => !isSet(one)), ...set];
}

function identifiersOf({ identifier = [] }: Appointment, ties: Ties): Identifier[] {
  const isSet = ({ system }: Identifier): boolean => ties.identifier.some((one) => one.system === system);
  return [...identifier.filter((one) => !isSet(one)), ...ties.identifier];
}

/** The participant of a hold without participants: FHIR requires one. A hold need not conform to LocalTermin yet. */
const unnamedPatient: AppointmentParticipant = {
  type: [{ text: 'Patient, not named yet' }],
  required: 'required',
  status: 'needs-action',
};

const isSameTag = (coding: Coding, other: Coding): boolean =>
  coding.system === other.system && coding.code === other.code;

/** The `meta` of the appointment: the submitted one, with the tags, profiles and labels that are already stored. */
function metaOf(
  sent: Meta | undefined,
  { earlier: { previous }, context }: BookingDecision,
  profiles: readonly string[],
): Meta {
  const { tag = [], profile = [], security } = previous?.meta ?? {};
  const tags = [...(sent?.tag ?? []), ...tag.filter((coding) => !sent?.tag?.some((other) => isSameTag(coding, other)))];
  const claimed = profiles.length > 0 ? [...(sent?.profile ?? []), ...profile] : [];
  const owner = ownerAfter(previous, context);
  return {
    ...metaOfSubmitted({ tag: tags, profile: claimed }, owner, context.config, profiles),
    ...(security && { security }),
  };
}

/** The appointment as it is to be stored, with elements that the service sets. */
function appointmentOf(
  decision: BookingDecision,
  outcome: Outcome,
  answers: readonly BundleEntry[],
  ties: Ties,
): Appointment {
  const { request, resolved, selected, context } = decision;
  const { id: _, meta, extension: __, ...sent } = request.appointment.value;
  const { interval } = request;
  const extension = [...extensionsOf(decision, ties), ...outcome.extension];
  const identifier = identifiersOf(sent, ties);
  const serviceType = storedServiceTypes(decision);
  const references = answers.flatMap(({ fullUrl }) => (fullUrl ? [{ reference: fullUrl }] : []));
  const supportingInformation = [...(sent.supportingInformation ?? []), ...references];
  const profiles = outcome.status === 'proposed' ? [] : [artefactUri(context.config, 'LocalTermin')];
  return {
    ...sent,
    meta: metaOf(meta, decision, profiles),
    ...(extension.length > 0 && { extension }),
    ...(identifier.length > 0 && { identifier }),
    ...(serviceType.length > 0 && { serviceType: [...serviceType] }),
    status: outcome.status,
    ...(interval && { start: formatInstant(interval.start), end: formatInstant(interval.end) }),
    slot: selected.slots.map(({ id }) => ({ reference: id.startsWith('urn:') ? id : `Slot/${id}` })),
    participant: resolved.participants.length > 0 ? [...resolved.participants] : [unnamedPatient],
    ...(supportingInformation.length > 0 && { supportingInformation }),
  };
}

/** Updates an appointment, if it still has the version that was read. It records on whose behalf. */
function changeEntry(stored: Appointment, changed: Appointment, { requestor, config }: BookingContext): BundleEntry {
  const meta = markChange(changed.meta, requestor, stored.meta?.versionId, config);
  return updateEntry(stored, { ...changed, id: stored.id, meta });
}

/** Creates an appointment and records on whose behalf. A personal offer has no such record. */
function createEntry(
  appointment: Appointment,
  fullUrl: string | undefined,
  { requestor, offer, config }: BookingContext,
): BundleEntry {
  const meta = offer ? appointment.meta : markChange(appointment.meta, requestor, undefined, config);
  const request = { method: 'POST', url: 'Appointment' } as const;
  return { ...(fullUrl && { fullUrl }), request, resource: { ...appointment, meta } };
}

/**
 * The entries that store one appointment (the first one), cancel the replaced appointments, end a waitlist entry, and
 * create or complete Tasks.
 * @param answers - the entries of the submitted QuestionnaireResponses
 */
export function appointmentEntries(
  decision: BookingDecision,
  outcome: Outcome,
  answers: readonly BundleEntry[],
  ties: Ties = noTies,
): BundleEntry[] {
  const { earlier, context, resolved, submitted, known } = decision;
  const { previous, replaced, besides, answered } = earlier;
  const sent = appointmentOf(decision, outcome, answers, ties);
  // The replacement of a participant whom the clinic added is not the requestor's part, either.
  const before = previous && { ...previous, participant: [...previous.participant, ...(resolved.kept ?? [])] };
  const appointment = withSubmitted(sent, before, context.requestor, context.config, submitted);
  const ending = [...(replaced ? [replaced] : []), ...besides];
  const fullUrl = ties.fullUrl ?? (ending.length > 0 ? context.newId() : undefined);
  const successor: Extension = {
    url: artefactUri(context.config, 'LocalReplacedBy'),
    valueReference: { reference: previous ? `Appointment/${previous.id}` : fullUrl },
  };
  const cancelationReason = answeredReason(context.config);
  const entries = [
    previous ? changeEntry(previous, appointment, context) : createEntry(appointment, fullUrl, context),
    ...ending.map((one) =>
      changeEntry(one, { ...one, status: 'cancelled', extension: [...(one.extension ?? []), successor] }, context),
    ),
    ...(answered ? [changeEntry(answered, { ...answered, status: 'cancelled', cancelationReason }, context)] : []),
  ];
  return withRequestTasks(entries, resolved.patient, known.tasks ?? [], context);
}

/**
 * The entries for the slots of a request. Its slots are narrowed to its times, its buffers are created, and all
 * bookable slots that this excludes, or no longer excludes, are settled. Entries that follow from released time are
 * added.
 * @param taken - its appointments in the order of their times, each in the calendar after the one before
 */
export function slotEntries(taken: readonly (BookingDecision & { readonly outcome: Outcome })[]): BundleEntry[] {
  const last = taken.at(-1);
  if (!last) {
    return [];
  }
  const { stored, calendar, context } = last;
  const { config, newId, now, onReleased = () => [] } = context;
  const own = taken.reduce((all, { request, selected, outcome }) => {
    const status = outcome.status === 'proposed' ? 'busy-tentative' : neededSlotStatus(outcome);
    const ids = selected.slots.map(({ id }) => id);
    return status && request.interval ? withTaken(all, ids, request.interval, status) : all;
  }, calendar);
  const buffers = taken.flatMap((decision) =>
    [...buffersOf(decision).values()].flatMap(({ slot, buffers: needed }) =>
      bufferSlots(decision.request.interval ?? { start: 0, end: 0 }, slot, needed, newId, config),
    ),
  );
  const after = new Map([...own, ...buffers.map((buffer) => [buffer.id, buffer] as const)]);
  const settled = settle(calendar, after, { ...settling(last), stored });
  return [
    ...calendarEntries(stored, settled, config),
    ...onReleased(slotChanges(stored, settled, config), schedulesIn(last), now, config),
  ];
}

/** The entries that cancel expired holds and requests. */
export const takeoverEntries = ({ known: { nearby }, context: { now, config } }: RequestContext): BundleEntry[] =>
  (nearby?.expired ?? []).map((appointment) => updateEntry(appointment, afterItsEnd(appointment, now, config)));

/** The updates of the rows of the quotas that these appointments use. */
export function usedQuotaEntries(
  decisions: readonly BookingDecision[],
  { known, context: { config } }: RequestContext,
): BundleEntry[] {
  const quotas = known.role === 'requestor' ? decisions.flatMap(({ result: policyResult }) => policyResult.quotas) : [];
  return quotaEntries(known.usage ?? new Map(), quotas, config);
}
