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
import { REPLACES } from '../../fhir/reserved.ts';
import { markChange, metaOfSubmitted, ownerOf } from '../../fhir/tags.ts';
import { updateEntry } from '../../fhir/update-entry.ts';
import { calendarEntries, slotChanges } from '../../slots/entries.ts';
import { settle } from '../../slots/settle.ts';
import { withTaken } from '../../slots/take.ts';
import { bufferSlots } from '../../slots/terms.ts';
import { afterItsEnd, answeredReason } from '../appointment/expiry.ts';
import { neededSlotStatus } from '../appointment/status.ts';
import { withSubmitted } from '../appointment/submitted.ts';
import { withRequestTasks } from '../confirmation/task.ts';
import { quotaEntries } from '../policy/quota.ts';
import { refillRows } from '../waitlist/refill.ts';
import type { BookingContext } from './context.ts';
import type { EarlierAppointments } from './resubmission/reschedule.ts';
import { type Result, resultOf } from './result.ts';
import { buffersOf, type Situation, schedulesIn, settling } from './situation.ts';

/** The elements of the appointment that are set by the booking, not by the request. */
interface Outcome extends Result {
  readonly slotIds: readonly string[];
  readonly participants: readonly AppointmentParticipant[];
  /** References to the submitted answers. */
  readonly answers: readonly string[];
}

/** The entries that store the submitted answers, with the patient of the booking as subject. */
function answersEntries({ request, resolved, context }: Situation): BundleEntry[] {
  const { requestor, config, newId } = context;
  const profile = artefactUri(config, 'LocalQuestionnaireResponse');
  return request.answers.map(({ value }) => {
    const { id: _, meta, ...response } = value;
    return {
      fullUrl: newId(),
      request: { method: 'POST', url: 'QuestionnaireResponse' },
      resource: {
        ...response,
        meta: metaOfSubmitted(meta, requestor, config, [profile]),
        ...(resolved.patient && { subject: resolved.patient }),
      },
    };
  });
}

/** The requestor of an appointment stays its owner, even if the clinic's staff move it. */
function ownerAfter(previous: Appointment | undefined, { requestor, config }: BookingContext): string {
  return (previous && ownerOf(previous, config)) ?? requestor;
}

function extensionsOf(sent: Appointment, { replaced }: EarlierAppointments): Extension[] {
  const own = (sent.extension ?? []).filter(({ url }) => !replaced || url !== REPLACES);
  return replaced ? [...own, { url: REPLACES, valueReference: { reference: `Appointment/${replaced.id}` } }] : own;
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
  const extension = [...extensionsOf(request.appointment.value, earlier), ...outcome.extension];
  const answers = outcome.answers.map((reference) => ({ reference }));
  const supportingInformation = [...(sent.supportingInformation ?? []), ...answers];
  const profiles = outcome.status === 'proposed' ? [] : [artefactUri(context.config, 'LocalTermin')];
  return {
    ...sent,
    meta: metaOf(meta, situation, profiles),
    ...(extension.length > 0 && { extension }),
    status: outcome.status,
    ...(interval && { start: formatInstant(interval.start), end: formatInstant(interval.end) }),
    slot: outcome.slotIds.map((id) => ({ reference: `Slot/${id}` })),
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
function createEntry(appointment: Appointment, { requestor, offer, config }: BookingContext): BundleEntry {
  const meta = offer ? appointment.meta : markChange(appointment.meta, requestor, undefined, config);
  return { request: { method: 'POST', url: 'Appointment' }, resource: { ...appointment, meta } };
}

/** The entries that store the appointment (the first one), cancel the one that it replaces, and end a waitlist entry. */
function appointmentEntries(situation: Situation, outcome: Outcome): BundleEntry[] {
  const { earlier, context } = situation;
  const { previous, replaced, answered } = earlier;
  const sent = appointmentOf(situation, outcome);
  const appointment = withSubmitted(sent, previous, context.requestor, context.config, situation.submitted);
  return [
    previous ? changeEntry(previous, appointment, context) : createEntry(appointment, context),
    ...(replaced ? [changeEntry(replaced, { ...replaced, status: 'cancelled' }, context)] : []),
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
 */
function slotEntriesOf(situation: Situation, outcome: Outcome): BundleEntry[] {
  const { stored, calendar, selected, request, context } = situation;
  const { config, newId, now } = context;
  const interval = request.interval ?? { start: 0, end: 0 };
  const status = outcome.status === 'proposed' ? 'busy-tentative' : neededSlotStatus(outcome);
  const ids = selected.slots.map(({ id }) => id);
  const taken = status ? withTaken(calendar, ids, interval, status) : calendar;
  const buffers = [...buffersOf(situation).values()].flatMap((one) =>
    bufferSlots(interval, one.slot, one.buffers, newId, config),
  );
  const after = new Map([...taken, ...buffers.map((buffer) => [buffer.id, buffer] as const)]);
  const settled = settle(calendar, after, { ...settling(situation), stored });
  return [
    ...calendarEntries(stored, settled, now, config),
    ...refillRows(slotChanges(stored, settled, now, config), schedulesIn(situation), now, config),
  ];
}

/** The entries that end holds and requests whose time has run out. */
function takeoverEntries({ known: { fragments }, context: { now, config } }: Situation): BundleEntry[] {
  return (fragments?.expired ?? []).map((one) => updateEntry(one, afterItsEnd(one, now, config)));
}

function usedQuotaEntries({ known, verdict, context: { config } }: Situation): BundleEntry[] {
  return quotaEntries(known.usage ?? new Map(), known.role === 'requestor' ? verdict.quotas : [], config);
}

/**
 * The one transaction that carries a booking out. Its first entry is the appointment.
 *
 * @see specification 2.1 and section 3
 */
export function transactionOf(situation: Situation): Bundle {
  const answers = answersEntries(situation);
  const outcome: Outcome = {
    ...resultOf(situation),
    slotIds: situation.selected.slots.map(({ id }) => id),
    participants: situation.resolved.participants,
    answers: answers.flatMap(({ fullUrl }) => fullUrl ?? []),
  };
  const entry: BundleEntry[] = [
    ...withRequestTasks(
      appointmentEntries(situation, outcome),
      situation.resolved.patient,
      situation.known.tasks ?? [],
      situation.context,
    ),
    ...slotEntriesOf(situation, outcome),
    ...situation.resolved.entries,
    ...answers,
    ...takeoverEntries(situation),
    ...usedQuotaEntries(situation),
  ];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}
