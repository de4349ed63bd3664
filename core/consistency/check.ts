import type { Task } from '@medplum/fhirtypes';
import { waitsSince } from '../booking/jobs/booking-task.ts';
import { formatInstant } from '../fhir/instant.ts';
import { type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { isRow } from '../rows/row.ts';
import { issuesOfAppointments } from './appointments.ts';
import { type ConsistencyContext, type Finding, finding, isByService, isSubmitted, keyOf } from './finding.ts';
import { issuesOfSlots } from './slots.ts';
import { issuesOfTakenTime } from './taken-time.ts';

export type { ConsistencyContext, Finding };

/** The age in milliseconds at which an accepted job counts as left over. */
const OVERDUE = 10 * 60_000;

function issuesOfTask(task: Task, state: ResourceSet, { now }: ConsistencyContext): Finding[] {
  const since = waitsSince(task) ?? now;
  const isOverdue = task.status === 'requested' && now - since > OVERDUE;
  const lost = (task.output ?? [])
    .flatMap(({ valueReference }) => valueReference?.reference ?? [])
    .filter((reference) => reference.startsWith('Appointment/') && !state.has(reference));
  return [
    ...(isOverdue ? [finding('job-left-over', keyOf(task), `It has been waiting since ${formatInstant(since)}.`)] : []),
    ...lost.map((reference) =>
      finding('reference-missing', keyOf(task), `It has booked ${reference}, which does not exist.`),
    ),
  ];
}

function referencesOfAppointments(state: ResourceSet): ReadonlySet<string | undefined> {
  return new Set(
    resourcesOfType(state, 'Appointment').flatMap(({ participant, supportingInformation = [] }) => [
      ...participant.map(({ actor }) => actor?.reference),
      ...supportingInformation.map(({ reference }) => reference),
    ]),
  );
}

/**
 * Finds jobs that are not carried out, and QuestionnaireResponses and patients of bookings to which no appointment
 * refers. A later booking may have replaced these resources, so they are warnings. A patient counts only if a Bot is
 * known to have written it, because requestors create patients themselves, too.
 */
function findOrphans(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const jobs = resourcesOfType(state, 'Task').filter((task) => isRow(task, ['book'], context.config));
  const referred = referencesOfAppointments(state);
  const responses = resourcesOfType(state, 'QuestionnaireResponse').filter(
    (response) => isSubmitted(response, context) && !referred.has(keyOf(response)),
  );
  const patients = resourcesOfType(state, 'Patient').filter(
    (patient) => isSubmitted(patient, context) && isByService(patient, context) && !referred.has(keyOf(patient)),
  );
  return [
    ...jobs.flatMap((task) => issuesOfTask(task, state, context)),
    ...responses.map((response) => finding('answers-left-over', keyOf(response), 'No appointment refers to them.')),
    ...patients.map((patient) => finding('patient-left-over', keyOf(patient), 'No appointment refers to it.')),
  ];
}

/**
 * Checks that appointments, slots and related resources agree. The state must hold all Appointments, Slots and Tasks to
 * be checked, and the resources of other types to which these refer.
 * @returns the inconsistencies
 */
export function checkConsistency(state: ResourceSet, context: ConsistencyContext): Finding[] {
  return [issuesOfAppointments, issuesOfSlots, issuesOfTakenTime, findOrphans].flatMap((check) =>
    check(state, context),
  );
}
