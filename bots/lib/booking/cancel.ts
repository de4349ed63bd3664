import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, CodeableConcept } from '@medplum/fhirtypes';
import { taskEntries } from '../../../core/booking/jobs/confirmation-task.ts';
import { type EffectivePolicy, effectivePolicy, policyIssues } from '../../../core/booking/policy/policy.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { config } from '../config.ts';
import {
  type DependentAppointment,
  followingEntries,
  readDependentAppointments,
} from '../visits/dependent-appointments.ts';
import { readAppointmentSlots } from './appointment-slots.ts';
import { completeRelated, type RelatedAppointment, readSchedulesOf } from './related-reads.ts';

/**
 * Returns the entries that cancel an appointment and its dependents, with the changes of their slots and Tasks.
 * @param dependents - the appointments of the visit to cancel with it; by default all that depend on it
 */
export async function cancelEntries(
  medplum: MedplumClient,
  found: RelatedAppointment,
  stored: Appointment,
  cancelationReason: CodeableConcept,
  dependents?: readonly DependentAppointment[],
): Promise<BundleEntry[]> {
  const complete = { ...found, ...(await completeRelated(medplum, stored, found)), appointment: stored };
  const all = [complete, ...(dependents ?? (await readDependentAppointments(medplum, stored)))].map(
    (dependentAppointment) => {
      const cancelled: Appointment = { ...dependentAppointment.appointment, status: 'cancelled', cancelationReason };
      return { ...dependentAppointment, cancelled };
    },
  );
  const slots = await Promise.all(all.map((related) => readAppointmentSlots(medplum, related.cancelled, related)));
  const following = followingEntries(
    all.map(({ cancelled }) => cancelled),
    slots,
  );
  return [
    ...all.map(({ appointment, cancelled }) => updateEntry(appointment, cancelled)),
    ...following,
    ...all.flatMap(({ cancelled, tasks }) => taskEntries(cancelled, tasks, Date.now(), config)),
  ];
}

export async function policiesOf(
  medplum: MedplumClient,
  { slots, calendars }: Pick<RelatedAppointment, 'slots' | 'calendars'>,
): Promise<EffectivePolicy[]> {
  const schedules = await readSchedulesOf(medplum, slots, calendars);
  return schedules.map(({ schedule, services }) => effectivePolicy(schedule, services, config));
}

/**
 * Returns the issues for which the booking policies forbid its patient or portal to cancel an appointment; empty if it
 * is permitted.
 */
export async function cancellationIssues(
  medplum: MedplumClient,
  { start: from = '' }: Appointment,
  found: Pick<RelatedAppointment, 'slots' | 'calendars'>,
): Promise<Issue[]> {
  const policies = await policiesOf(medplum, found);
  const start = Date.parse(from);
  return policyIssues('cancel', policies, { start, end: start }, Date.now(), 'Appointment.status');
}
