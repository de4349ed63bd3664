import type { Appointment, Patient } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { isHold } from '../appointment/expiry.ts';
import { isOpen, mayBecome, statusQuery } from '../appointment/status.ts';
import { type EffectivePolicy, policyIssues } from '../policy/policy.ts';

/** An open appointment of a patient, and the policies of its Schedules. */
export interface PolicedAppointment {
  readonly appointment: Appointment;
  readonly policies: readonly EffectivePolicy[];
}

export const MAX_APPOINTMENTS = 100;

const PATH = 'Patient.active';

const refusal = (which: string): Issue => ({
  code: 'patient-has-appointments',
  diagnostics: `The patient has ${which}: ask the clinic to make the patient inactive.`,
  expression: PATH,
});

/** The reasons why the requestor may not cancel one appointment of the patient; holds have no policy. */
function cancellationIssues(
  { appointment, policies }: PolicedAppointment,
  requestor: string,
  now: number,
  config: PublicConfig,
): Issue[] {
  if (!belongsTo(appointment, requestor, config)) {
    return [refusal('an appointment that you did not book')];
  }
  if (!mayBecome(appointment, 'cancelled', 'requestor')) {
    return [refusal(`an appointment that is ${appointment.status}`)];
  }
  const start = Date.parse(appointment.start ?? '');
  return isHold(appointment, config) ? [] : policyIssues('cancel', policies, { start, end: start }, now, PATH);
}

/**
 * Finds the reasons why a requestor may not make its patient inactive. This cancels the open appointments of the
 * patient, so the requestor must be allowed to cancel each of them.
 * @param open - open appointments of the patient, at most `MAX_APPOINTMENTS`
 * @returns `patient-has-appointments`, `cancellation-closed`; equal texts are returned once
 */
export function deactivationIssues(
  open: readonly PolicedAppointment[],
  requestor: string,
  now: number,
  config: PublicConfig,
): Issue[] {
  if (open.length >= MAX_APPOINTMENTS) {
    return [refusal(`${MAX_APPOINTMENTS} open appointments or more`)];
  }
  const issues = open.flatMap((policedAppointment) => cancellationIssues(policedAppointment, requestor, now, config));
  return [...new Map(issues.map((issue) => [issue.diagnostics, issue])).values()];
}

export function openAppointmentsQuery({ id = '' }: Patient): string {
  const query = { patient: `Patient/${id}`, status: statusQuery(isOpen), _count: String(MAX_APPOINTMENTS) };
  return `Appointment?${new URLSearchParams(query)}&_include=Appointment:slot`;
}
