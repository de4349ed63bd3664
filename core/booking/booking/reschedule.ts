import type { Appointment } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { findResource, type ResourceSet } from '../../rows/resource-set.ts';
import { type Patients, patientIdsOf, replacedBy, survivorOf } from '../appointment/change.ts';
import { endingOf, hasRunOut, isHold, isPersonalOffer, isProlonged, offeredFor } from '../appointment/expiry.ts';
import { canBeMoved } from '../appointment/status.ts';
import { isActivePatient } from '../patients/identity.ts';
import type { Located } from '../request/parameters.ts';
import type { AppointmentRequest, Purpose } from '../request/request.ts';

export interface EarlierAppointments {
  /** The appointment that is sent again under its own id, to be moved. */
  readonly previous?: Appointment | undefined;
  readonly replaced?: Appointment | undefined;
  readonly besides: readonly Appointment[];
  /** The appointments that a hold would replace once it is booked. They stay, and do not count towards its limits. */
  readonly staying: readonly Appointment[];
  /** The waitlist entry that the booking fulfils, because it accepts the personal offer. */
  readonly answered?: Appointment | undefined;
  readonly issues: readonly Issue[];
}

function closedIssue({ id, status }: Appointment, expression: string): Issue {
  const diagnostics = `Appointment/${id} is ${status} and can no longer be changed; book a new one.`;
  return { code: 'appointment-closed', diagnostics, expression };
}

function replacedIssues({ value: id, path }: Located<string>, found: Appointment | undefined): Issue[] {
  if (!found) {
    const diagnostics = `There is no Appointment/${id} to replace.`;
    return [{ code: 'replaced-appointment-not-found', diagnostics, expression: path }];
  }
  return canBeMoved(found) ? [] : [closedIssue(found, path)];
}

interface EarlierContext {
  readonly purpose?: Purpose | undefined;
  readonly now: number;
  readonly config: PublicConfig;
}

/** Refuses to hold an appointment again, unless it is a hold that has expired or was never extended. */
function prolongationIssues(previous: Appointment, path: string, { config, now }: EarlierContext): Issue[] {
  const expression = `${path}.id`;
  if (isPersonalOffer(previous, config)) {
    const diagnostics = `Appointment/${previous.id} is an offer, whose end stays: accept it by $book, or decline it.`;
    return [{ code: 'appointment-closed', diagnostics, expression }];
  }
  if (!isHold(previous, config)) {
    const diagnostics = `Appointment/${previous.id} is ${previous.status}: only a hold can be sent to $hold again.`;
    return [{ code: 'appointment-closed', diagnostics, expression }];
  }
  const diagnostics = `The hold Appointment/${previous.id} was already extended once: book it, or hold another time.`;
  return isProlonged(previous, config) && !hasRunOut('hold', previous, now, config)
    ? [{ code: 'too-many-holds', diagnostics, expression }]
    : [];
}

function previousIssues(previous: Appointment, path: string, context: EarlierContext): Issue[] {
  const isUsable = canBeMoved(previous) || endingOf(previous, context.now, context.config) !== undefined;
  const closed = isUsable ? [] : [closedIssue(previous, `${path}.id`)];
  return closed.length === 0 && context.purpose === 'hold' ? prolongationIssues(previous, path, context) : closed;
}

/** Refuses a move by a caller that has not seen the current version of the appointment. */
function versionIssues(
  { appointment }: AppointmentRequest,
  ifMatch: string | undefined,
  previous: Appointment | undefined,
): Issue[] {
  if (ifMatch === undefined || previous?.meta?.versionId === ifMatch) {
    return [];
  }
  const diagnostics = previous
    ? `Appointment/${previous.id} has the version ${previous.meta?.versionId}, not ${ifMatch}: read it again before you decide.`
    : 'If-Match is only for moving an appointment: send the id of an appointment that exists, or leave out If-Match.';
  return [{ code: 'version-conflict', diagnostics, expression: `${appointment.path}.id` }];
}

/**
 * Finds the appointments that a request moves or replaces. If the caller cannot see an appointment with the id that it
 * sends, the booking is a new one.
 * @param ifMatch - the version that the appointment to be moved must have
 * @returns the appointments, and `version-conflict`, `appointment-closed`, `replaced-appointment-not-found` where they
 *   cannot be changed
 * @see specification section 3, re-submission
 */
export function findEarlierAppointments(
  request: AppointmentRequest,
  state: ResourceSet,
  context: EarlierContext,
  ifMatch?: string,
): EarlierAppointments {
  const { value, path } = request.appointment;
  const previous = value.id === undefined ? undefined : findResource(state, 'Appointment', value.id);
  const offered =
    previous && isPersonalOffer(previous, context.config)
      ? offeredFor(previous, context.config).flatMap((id) => findResource(state, 'Appointment', id) ?? [])
      : [];
  const named = request.replaced.map((one) => ({ one, found: findResource(state, 'Appointment', one.value) }));
  const ending = named.length > 0 ? named.flatMap(({ found }) => found ?? []) : offered.filter(canBeMoved);
  const [replaced, ...besides] = context.purpose === 'hold' ? [] : ending;
  return {
    previous,
    replaced,
    besides,
    staying: context.purpose === 'hold' ? ending : [],
    answered: offered.find(({ status }) => status === 'waitlist'),
    issues: [
      ...versionIssues(request, ifMatch, previous),
      ...(previous ? previousIssues(previous, path, context) : []),
      ...named.flatMap(({ one, found }) => replacedIssues(one, found)),
    ],
  };
}

/** The stored appointments that a booking moves or replaces. */
export const changedBy = ({
  previous,
  replaced,
  besides,
}: Pick<EarlierAppointments, 'previous' | 'replaced' | 'besides'>): Appointment[] =>
  [previous, replaced, ...besides].filter((appointment) => appointment !== undefined);

export const givingBack = (earlier: EarlierAppointments): Appointment[] => changedBy(earlier).filter(canBeMoved);

function patientsOfEarlier(earlier: EarlierAppointments, baseUrl: string): string[] {
  return changedBy(earlier).flatMap((appointment) => patientIdsOf(appointment, baseUrl).map(({ id }) => id));
}

/**
 * The active record of a patient in a booking that moves or replaces an appointment: the clinic may have merged the
 * requestor's patient into a record of its own. The requestor may name either, but the survivor only if its own
 * appointment names it.
 * @param patients - merged patients and their survivors, read with the service's own rights; `undefined` if that was
 *   not needed
 * @returns the id of an active patient; `undefined` if the patient is to be validated as in any other booking
 */
export function successorPatientOf(
  id: string,
  earlier: EarlierAppointments,
  patients: Patients | undefined,
  baseUrl: string,
): string | undefined {
  const participants = patientsOfEarlier(earlier, baseUrl);
  const successor = patients && survivorOf(id, patients);
  return successor !== undefined && (participants.includes(id) || participants.includes(successor))
    ? successor
    : undefined;
}

/**
 * The patients of a request whose survivors must be read: the caller's own appointment names them but the caller cannot
 * see them, or they were merged.
 * @param state - the resources that the caller may see
 */
export function mergedPatients(
  named: readonly string[],
  earlier: EarlierAppointments,
  state: ResourceSet,
  baseUrl: string,
): string[] {
  const participants = patientsOfEarlier(earlier, baseUrl);
  return named.filter((id) => {
    const seen = findResource(state, 'Patient', id);
    return seen
      ? participants.length > 0 && !isActivePatient(seen) && replacedBy(seen) !== undefined
      : participants.includes(id);
  });
}
