import type { Appointment, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { parseInstant, timeOf } from '../../fhir/instant.ts';
import { besides, type Issue } from '../../fhir/outcome/outcome.ts';
import { idIn, parseReference } from '../../fhir/reference.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import { isActivePatient } from '../patients/identity.ts';
import { addedActorIssues, displayIssues } from './actors.ts';
import { immutableIssues, isMoved, MAX_SLOTS, otherPatientIssues, reservedIssues } from './elements.ts';
import { hasRunOut, reasonOf } from './expiry.ts';
import { profileIssues, publisherIssues } from './profile.ts';
import { type Changer, isOpen, neededSlotStatus, statusIssues, transitionIssues } from './status.ts';

/** The most merges in a row that are followed to the survivor. */
const MAX_CHAIN = 8;

/** The id of the patient into which a patient was merged, if it was. */
export function replacedBy({ link }: Patient): string | undefined {
  return idIn(link?.find(({ type }) => type === 'replaced-by')?.other, 'Patient');
}

/** The ids of survivors that must still be read. */
export function unknownSurvivors(patients: Patients): string[] {
  return [...patients.values()].flatMap((patient) => {
    const id = replacedBy(patient);
    return id !== undefined && !patients.has(id) ? [id] : [];
  });
}

/**
 * The id of the active record of a patient: the patient itself, or the record into which it was merged.
 * @returns `undefined` if there is none: the patient is deleted or inactive, or its merges form a circle or too long a
 *   chain
 */
export function survivorOf(id: string, patients: Patients): string | undefined {
  let current: string | undefined = id;
  for (let merges = 0; current !== undefined && merges <= MAX_CHAIN; merges++) {
    const patient = patients.get(current);
    if (!patient) {
      return undefined;
    }
    if (isActivePatient(patient)) {
      return current;
    }
    current = replacedBy(patient);
  }
  return undefined;
}

/**
 * Adapts an open appointment to the state of its patients. A merged patient is replaced by the survivor; an inactive or
 * deleted one is removed. If no patient is left, the appointment is cancelled. Closed appointments stay unchanged.
 * @param patients - all who take part, and the survivors of merges (`unknownSurvivors`), as far as they exist
 * @returns the same object if nothing has to change
 * @see specification 2.1
 */
export function afterPatientChange(appointment: Appointment, patients: Patients, config: BookingConfig): Appointment {
  const { baseUrl } = config;
  const participants = patientIdsOf(appointment, baseUrl);
  const survivors = new Map(participants.map(({ id }) => [id, survivorOf(id, patients)]));
  if (!isOpen(appointment) || participants.every(({ id }) => survivors.get(id) === id)) {
    return appointment;
  }
  if ([...survivors.values()].every((survivor) => survivor === undefined)) {
    const cancelationReason = reasonOf('patient-inactive', 'The patient is no longer active.', config);
    return { ...appointment, status: 'cancelled', cancelationReason };
  }
  const taken = new Set<string>();
  const participant = appointment.participant.flatMap((one) => {
    const [patient] = patientIdsOf({ ...appointment, participant: [one] }, baseUrl);
    if (!patient) {
      return [one];
    }
    const survivor = survivors.get(patient.id);
    if (survivor === undefined) {
      return [];
    }
    const isSecond = taken.has(survivor);
    taken.add(survivor);
    return isSecond ? [] : [{ ...one, actor: { ...one.actor, reference: `Patient/${survivor}` } }];
  });
  return { ...appointment, participant };
}

/** The existing patients of an appointment, by id. Deleted patients are missing. */
export type Patients = ReadonlyMap<string, Patient>;

/** Finds structural errors. A result is readable unless an element has the wrong JSON type. */
function checkStructure(result: Appointment): { readonly issues: readonly Issue[]; readonly isReadable: boolean } {
  const { issues, unreadable } = readStructure(result, 'Appointment', 'Appointment');
  const isReadable = unreadable.length === 0;
  return {
    issues: isReadable ? [...issues, ...statusIssues(result.status, 'Appointment.status')] : issues,
    isReadable,
  };
}

/** The ids of an appointment's patients, with the FHIRPath of each. The appointment may have any shape. */
export function patientIdsOf(
  { participant }: Appointment,
  baseUrl: string,
): { readonly id: string; readonly path: string }[] {
  return (Array.isArray(participant) ? participant : []).flatMap((one, index) => {
    const read = parseReference(one?.actor?.reference, baseUrl, ['Patient']);
    return read ? [{ id: read.id, path: `Appointment.participant[${index}].actor` }] : [];
  });
}

/** An open appointment needs patients that exist and are active. */
function inactivePatientIssues(result: Appointment, patients: Patients, baseUrl: string): Issue[] {
  return (isOpen(result) ? patientIdsOf(result, baseUrl) : []).flatMap(({ id, path }): Issue[] => {
    const patient = patients.get(id);
    if (!patient) {
      const diagnostics = `Patient/${id} no longer exists; the appointment can only be cancelled.`;
      return [{ code: 'patient-not-found', diagnostics, expression: path }];
    }
    const diagnostics = `Patient/${id} is inactive or was merged; the appointment can only be cancelled.`;
    return isActivePatient(patient) ? [] : [{ code: 'patient-inactive', diagnostics, expression: path }];
  });
}

function claimsProfile({ meta }: Appointment, config: BookingConfig): boolean {
  return meta?.profile?.includes(artefactUri(config, 'LocalTermin')) ?? false;
}

/** An appointment that was booked through the service must keep the profile LocalTermin. */
function claimIssues(stored: Appointment, result: Appointment, config: BookingConfig): Issue[] {
  const diagnostics = 'The profile LocalTermin cannot be removed from an appointment.';
  return claimsProfile(stored, config) && !claimsProfile(result, config)
    ? [{ code: 'immutable-element', diagnostics, expression: 'Appointment.meta.profile' }]
    : [];
}

function deadlineIssue({ id }: Appointment, config: BookingConfig): Issue {
  const diagnostics =
    `The deadline to confirm Appointment/${id} has passed, and its time may be taken. To book it again, send it to ` +
    `${config.baseUrl}/Appointment/$book with its id and the status proposed.`;
  return { code: 'confirmation-expired', diagnostics, expression: 'Appointment.status' };
}

/** Refuses a late confirmation, an unlisted transition, or a requestor's cancellation after the end. */
function statusChangeIssues(
  stored: Appointment,
  result: Appointment,
  changer: Changer,
  now: number,
  config: BookingConfig,
): Issue[] {
  if (statusIssues(result.status, 'Appointment.status').length > 0) {
    return [];
  }
  const isConfirmation = stored.status !== result.status && isOpen(result);
  if (isConfirmation && hasRunOut('request', stored, now, config)) {
    return [deadlineIssue(stored, config)];
  }
  const isCancellation = stored.status !== result.status && result.status === 'cancelled';
  return [
    ...transitionIssues(stored.status, result.status, changer),
    ...(isCancellation && changer === 'requestor' ? endedIssues(stored, now, 'Appointment.status') : []),
  ];
}

/**
 * Refuses changes by a requestor after the end of the appointment. From then on only the clinic can change it.
 * @returns `cancellation-closed` if the time of a booked or requested appointment has passed
 */
export function endedIssues({ id, status, end }: Appointment, now: number, expression: string): Issue[] {
  const isOver = (status === 'booked' || status === 'pending') && (parseInstant(end) ?? now + 1) <= now;
  const diagnostics = `Appointment/${id} ended at ${end}: only the clinic can still change it.`;
  return isOver ? [{ code: 'cancellation-closed', diagnostics, expression }] : [];
}

/**
 * The violations of the publisher's rules that a change adds. Existing ones do not count: an appointment that was
 * booked before the rules applied can still be changed and cancelled.
 */
function newPublisherIssues(stored: Appointment, result: Appointment, config: BookingConfig): Issue[] {
  const known = new Set(
    publisherIssues({ value: stored, path: 'Appointment' }, config).map(({ expression }) => expression),
  );
  const added = publisherIssues({ value: result, path: 'Appointment' }, config).filter(
    ({ expression }) => !known.has(expression),
  );
  const unnamed = config.appointmentRules?.needsDisplay
    ? displayIssues(result.participant ?? [], 'Appointment', stored.participant)
    : [];
  return [...added, ...unnamed];
}

/** Finds the reasons against a move that do not depend on the calendar. */
function timeChangeIssues(stored: Appointment, result: Appointment, now: number): Issue[] {
  if (!neededSlotStatus(stored) || !neededSlotStatus(result)) {
    const diagnostics = `The appointment is ${neededSlotStatus(stored) ? result.status : stored.status}: only one that is open can get another time or other Slots.`;
    return [{ code: 'appointment-closed', diagnostics, expression: 'Appointment' }];
  }
  const time = timeOf(result);
  if (!time) {
    const diagnostics = 'An open appointment has a start, and an end after it.';
    return [{ code: 'period-invalid', diagnostics, expression: 'Appointment.end' }];
  }
  const isStartMoved = parseInstant(stored.start) !== time.start;
  const unknown = (result.slot ?? []).flatMap((reference, index) =>
    idIn(reference, 'Slot') === undefined ? [index] : [],
  );
  const most = `An appointment can have ${MAX_SLOTS} Slots at most.`;
  return [
    ...(isStartMoved && time.start <= now
      ? [
          {
            code: 'start-in-past' as const,
            diagnostics: `${result.start} has passed: the appointment can only be moved to a later time.`,
            expression: 'Appointment.start',
          },
        ]
      : []),
    ...unknown.map((index) => ({
      code: 'slot-mismatch' as const,
      diagnostics: 'It names no Slot of this server.',
      expression: `Appointment.slot[${index}]`,
    })),
    ...((result.slot ?? []).length > MAX_SLOTS
      ? [{ code: 'malformed-request' as const, diagnostics: most, expression: 'Appointment.slot' }]
      : []),
  ];
}

/** The codes that a change adds and FHIR does not know. The status has rules of its own. */
function codeIssues(stored: Appointment, result: Appointment): readonly Issue[] {
  const [known, found] = [stored, result].map(
    (appointment) => readStructure(appointment, 'Appointment', 'Appointment').codes,
  );
  return besides(found ?? [], known ?? []).filter(({ expression }) => expression !== 'Appointment.status');
}

/**
 * Decides whether an appointment may be changed. All rules for changes are here, for every caller and every interface.
 * In Medplum, staff may also move the appointment. Whether the calendar has the time is decided elsewhere.
 * @param result - the appointment after the change; of any shape
 * @param patients - the existing patients of the result
 * @param isInMedplum - whether it is changed in Medplum, not through the interface
 * @returns all problems: `malformed-request` where the result does not have the structure of an Appointment (and
 *   nothing else if an element has the wrong JSON type), `immutable-element`, `transition-not-allowed`,
 *   `confirmation-expired`, `patient-not-found`, `patient-inactive`, `profile-violation`; in Medplum
 *   `patient-mismatch`, `appointment-closed`, `period-invalid`, `start-in-past`
 * @see specification sections 3 and 4.5
 */
export function validateChange(
  stored: Appointment,
  result: Appointment,
  changer: Changer,
  patients: Patients,
  now: number,
  config: BookingConfig,
  isInMedplum = false,
): readonly Issue[] {
  const form = checkStructure(result);
  if (!form.isReadable) {
    return form.issues;
  }
  const located = { value: result, path: 'Appointment' };
  const changes = (isInMedplum ? otherPatientIssues : immutableIssues)(stored, result, config.baseUrl);
  const isMove = isInMedplum && isMoved(stored, result, config.baseUrl);
  const changed = new Set(changes.map(({ expression }) => expression));
  return [
    ...form.issues,
    ...codeIssues(stored, result),
    ...changes,
    ...(isMove ? timeChangeIssues(stored, result, now) : []),
    ...(changer === 'requestor'
      ? addedActorIssues(stored, result, config.baseUrl).filter(({ expression }) => !changed.has(expression))
      : []),
    ...reservedIssues(stored, result, changer, config),
    ...claimIssues(stored, result, config),
    ...statusChangeIssues(stored, result, changer, now, config),
    ...(changes.length > 0 ? [] : inactivePatientIssues(result, patients, config.baseUrl)),
    ...(claimsProfile(stored, config)
      ? profileIssues(located, config).filter(({ expression }) => !changed.has(expression))
      : []),
    ...(changer === 'requestor' ? newPublisherIssues(stored, result, config) : []),
  ];
}

/**
 * Decides whether clinic staff may create an appointment directly in Medplum: its patients must exist and be active.
 * @param created - of any shape
 * @param patients - its existing patients
 * @returns `malformed-request`, `patient-not-found`, `patient-inactive`
 * @see specification 2.1
 */
export function validateCreation(created: Appointment, patients: Patients, config: BookingConfig): readonly Issue[] {
  const { issues } = checkStructure(created);
  return issues.length > 0 ? issues : inactivePatientIssues(created, patients, config.baseUrl);
}
