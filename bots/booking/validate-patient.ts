import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, OperationOutcome, Patient, Slot } from '@medplum/fhirtypes';
import {
  deactivationIssues,
  openAppointmentsQuery,
  type PolicedAppointment,
} from '../../core/booking/patients/deactivation.ts';
import { isActivePatient } from '../../core/booking/patients/identity.ts';
import { effectivePolicy } from '../../core/booking/policy/policy.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { belongsTo } from '../../core/fhir/tags.ts';
import { slotIdsOf } from '../../core/slots/slot.ts';
import { readSchedulesOf } from '../lib/booking/related-reads.ts';
import { config } from '../lib/config.ts';
import { ofType, readInBatch } from '../lib/read.ts';

/** Adds to each appointment the policies of the Schedules of its Slots. */
async function withPolicies(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  slots: readonly Slot[],
): Promise<PolicedAppointment[]> {
  const allSchedules = await readSchedulesOf(medplum, slots);
  return appointments.map((appointment) => {
    const slotsOfAppointment = slots.filter(({ id = '' }) => slotIdsOf(appointment).includes(id));
    const schedules = new Set(slotsOfAppointment.map(({ schedule }) => idIn(schedule, 'Schedule')));
    const policies = allSchedules
      .filter(({ schedule }) => schedules.has(schedule.id))
      .map(({ schedule, services }) => effectivePolicy(schedule, services, config));
    return { appointment, policies };
  });
}

/**
 * Checks a patient that a portal makes inactive, before Medplum stores it: the patient's open appointments will be
 * cancelled, and the portal must be allowed to cancel them. Staff may make any patient inactive.
 * @param event - input: the Patient as it would be stored
 * @returns `true` to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws ReadError when the server could not be read; Medplum then refuses the write
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Patient>): Promise<true | OperationOutcome> {
  const requestor = input.meta?.author?.reference?.split('/')[1] ?? '';
  if (!belongsTo(input, requestor, config)) {
    return true;
  }
  const [patients, found] = await readInBatch(medplum, [`Patient?_id=${input.id}`, openAppointmentsQuery(input)]);
  const [stored] = ofType('Patient', patients);
  if (!stored || !isActivePatient(stored)) {
    return true;
  }
  const open = await withPolicies(medplum, ofType('Appointment', found), ofType('Slot', found));
  const issues = deactivationIssues(open, requestor, Date.now(), config);
  return issues.length > 0 ? toOperationOutcome(issues, config) : true;
}
