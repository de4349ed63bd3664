import type { Appointment, AppointmentParticipant, BundleEntry, Extension } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { REPLACES } from '../../fhir/reserved.ts';
import { markChange, metaOfSubmitted, ownerOf } from '../../fhir/tags.ts';
import { updateEntry } from '../../fhir/update-entry.ts';
import type { BookRequest } from './request/request.ts';
import type { ResolvedParticipants } from './resolve-participants.ts';
import type { EarlierAppointments } from './resubmission/reschedule.ts';

/** What the transaction depends on besides the decision. */
export interface WriteContext {
  readonly requestor: string;
  readonly config: BookingConfig;
  readonly newId: () => string;
}

/** The elements of the appointment that the booking sets, not the request. */
export interface Outcome {
  readonly status: 'booked' | 'pending' | 'proposed';
  /** Extensions that the service itself sets. */
  readonly extension: readonly Extension[];
  readonly slotIds: readonly string[];
  readonly participants: readonly AppointmentParticipant[];
  /** References to the submitted answers. */
  readonly answers: readonly string[];
}

/** The entries that store the submitted answers, with the patient of the booking as subject. */
export function answersEntries(
  request: BookRequest,
  resolved: ResolvedParticipants,
  context: WriteContext,
): BundleEntry[] {
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
function ownerAfter(previous: Appointment | undefined, { requestor, config }: WriteContext): string {
  return (previous && ownerOf(previous, config)) ?? requestor;
}

function extensionsOf(sent: Appointment, { previous, replaced }: EarlierAppointments): Extension[] {
  const replaces: Extension[] = replaced
    ? [{ url: REPLACES, valueReference: { reference: `Appointment/${replaced.id}` } }]
    : (previous?.extension ?? []).filter(({ url }) => url === REPLACES);
  return [...(sent.extension ?? []), ...replaces];
}

/** Who a time is held for, as long as nobody is named: FHIR demands a participant. A hold is no LocalTermin yet. */
const unnamedPatient: AppointmentParticipant = {
  type: [{ text: 'Patient, not named yet' }],
  required: 'required',
  status: 'needs-action',
};

function appointmentOf(
  request: BookRequest,
  outcome: Outcome,
  earlier: EarlierAppointments,
  context: WriteContext,
): Appointment {
  const { id: _, meta, extension: __, ...sent } = request.appointment.value;
  const { interval } = request;
  const extension = [...extensionsOf(request.appointment.value, earlier), ...outcome.extension];
  const answers = outcome.answers.map((reference) => ({ reference }));
  const supportingInformation = [...(sent.supportingInformation ?? []), ...answers];
  const owner = ownerAfter(earlier.previous, context);
  const isHold = outcome.status === 'proposed';
  const profile = artefactUri(context.config, 'LocalTermin');
  return {
    ...sent,
    meta: isHold
      ? metaOfSubmitted({ ...meta, profile: [] }, owner, context.config)
      : metaOfSubmitted(meta, owner, context.config, [profile]),
    ...(extension.length > 0 && { extension }),
    status: outcome.status,
    ...(interval && { start: formatInstant(interval.start), end: formatInstant(interval.end) }),
    slot: outcome.slotIds.map((id) => ({ reference: `Slot/${id}` })),
    participant: outcome.participants.length > 0 ? [...outcome.participants] : [unnamedPatient],
    ...(supportingInformation.length > 0 && { supportingInformation }),
  };
}

/**
 * A transaction entry that changes a stored appointment, if it still has the version that was read, and says on whose
 * behalf.
 */
function changeEntry(stored: Appointment, changed: Appointment, { requestor, config }: WriteContext): BundleEntry {
  const meta = markChange(changed.meta, requestor, stored.meta?.versionId, config);
  return updateEntry(stored, { ...changed, id: stored.id, meta });
}

/** A transaction entry that creates an appointment and records on whose behalf. */
function createEntry(appointment: Appointment, { requestor, config }: WriteContext): BundleEntry {
  const meta = markChange(appointment.meta, requestor, undefined, config);
  return { request: { method: 'POST', url: 'Appointment' }, resource: { ...appointment, meta } };
}

/**
 * The entries that store the appointment, first, and cancel the one that it replaces.
 *
 * @see specification 2.1 and section 3
 */
export function appointmentEntries(
  request: BookRequest,
  outcome: Outcome,
  earlier: EarlierAppointments,
  context: WriteContext,
): BundleEntry[] {
  const { previous, replaced } = earlier;
  const appointment = appointmentOf(request, outcome, earlier, context);
  return [
    previous ? changeEntry(previous, appointment, context) : createEntry(appointment, context),
    ...(replaced ? [changeEntry(replaced, { ...replaced, status: 'cancelled' }, context)] : []),
  ];
}
