import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { effectivePolicy } from '../../../core/booking/policy/effective-policy.ts';
import { policyIssues } from '../../../core/booking/policy/judge.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { config } from '../config.ts';
import { type RelatedAppointment, readSchedulesOf } from './related-reads.ts';

/**
 * Why the booking policies of its Schedules forbid the cancellation of an appointment by its patient or portal; empty if they
 * do not.
 *
 * @throws ReadError when the server could not be read
 */
export async function cancellationIssues(
  medplum: MedplumClient,
  { start: from = '' }: Appointment,
  { slots, calendars }: Pick<RelatedAppointment, 'slots' | 'calendars'>,
): Promise<Issue[]> {
  const schedules = await readSchedulesOf(medplum, slots, calendars);
  const policies = schedules.map(({ schedule, services }) => effectivePolicy(schedule, services, config));
  const start = Date.parse(from);
  return policyIssues('cancel', policies, { start, end: start }, Date.now(), 'Appointment.status');
}
