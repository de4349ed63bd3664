import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';

/** Who changes an appointment: the portal that booked it, or the clinic that keeps it. */
export type Changer = 'requestor' | 'repository';

/** Status of an appointment. */
export type AppointmentStatus = Appointment['status'];

const both: readonly Changer[] = ['requestor', 'repository'];
const clinic: readonly Changer[] = ['repository'];

/**
 * Every change of status that an update may make, and who may make it. What is not in the table is not allowed; a
 * proposed appointment becomes booked or pending by `$book` alone.
 *
 * @see specification section 3
 */
export const transitions: Readonly<
  Partial<Record<AppointmentStatus, Readonly<Partial<Record<AppointmentStatus, readonly Changer[]>>>>>
> = {
  proposed: { cancelled: both },
  pending: { booked: clinic, cancelled: both },
  booked: { cancelled: both, arrived: clinic, 'checked-in': clinic, fulfilled: clinic, noshow: clinic },
  arrived: { 'checked-in': clinic, fulfilled: clinic, noshow: clinic },
  'checked-in': { fulfilled: clinic, noshow: clinic },
};

function allowedFrom(status: AppointmentStatus, changer: Changer): string[] {
  return Object.entries(transitions[status] ?? {}).flatMap(([to, who]) => (who.includes(changer) ? [to] : []));
}

/**
 * Whether a change of status is allowed.
 *
 * @returns `transition-not-allowed` if it is not; nothing if the status stays
 */
export function transitionIssues(from: AppointmentStatus, to: AppointmentStatus, changer: Changer): Issue[] {
  if (from === to || transitions[from]?.[to]?.includes(changer)) {
    return [];
  }
  const allowed = allowedFrom(from, changer);
  const rest = allowed.length > 0 ? `; allowed from there: ${allowed.join(', ')}` : ', which is final';
  const diagnostics = `The ${changer} cannot make an appointment ${to} that is ${from}${rest}.`;
  return [{ code: 'transition-not-allowed', diagnostics, expression: 'Appointment.status' }];
}
