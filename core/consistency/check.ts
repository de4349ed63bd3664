import type { Appointment, Slot, Task } from '@medplum/fhirtypes';
import { holdersOf, unfittingSlots } from '../booking/appointment/reads.ts';
import { neededSlotStatus } from '../booking/appointment/status.ts';
import { waitsSince } from '../booking/jobs/booking-task.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { isMarked, isOverbooking } from '../fhir/scheduling/slot-marks.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { isRow } from '../rows/row.ts';
import { type CalendarSlot, calendarOf, isBooked, slotIdsOf } from '../slots/slot.ts';
import { type Interval, overlaps } from '../time/interval.ts';
import { type ConsistencyContext, type Finding, finding, isByService, isSubmitted, keyOf } from './finding.ts';
import { issuesOfTakenTime } from './taken-time.ts';

type Rule = (
  appointment: Appointment,
  slots: readonly Slot[],
  state: ResourceSet,
  context: ConsistencyContext,
) => Finding[];

const missingSlots: Rule = (appointment, slots, _state, context) => {
  const known = new Set(slots.map(({ id }) => id));
  const gone = slotIdsOf(appointment).filter((id) => !known.has(id));
  const isWithout = slotIdsOf(appointment).length === 0 && isSubmitted(appointment, context);
  const key = keyOf(appointment);
  return [
    ...gone.map((id) => finding('slot-missing', key, `It is ${appointment.status}, but Slot/${id} does not exist.`)),
    ...(isWithout ? [finding('slot-missing', key, `It is ${appointment.status}, but has no slot.`)] : []),
  ];
};

/** A Slot that several appointments hold has the status of its strongest use. */
const isNeeded = ({ id = '', status }: Slot, state: ResourceSet): boolean =>
  resourcesOfType(state, 'Appointment').some(
    (appointment) => neededSlotStatus(appointment) === status && slotIdsOf(appointment).includes(id),
  );

const unfittingStatus: Rule = (appointment, slots, state) => {
  const key = keyOf(appointment);
  const what = `${key} is ${appointment.status} and needs it ${neededSlotStatus(appointment)}`;
  return unfittingSlots(appointment, slots)
    .filter((slot) => !isNeeded(slot, state))
    .map((slot) => finding('slot-status', keyOf(slot), `It is ${slot.status}, but ${what}.`));
};

function covers(slots: readonly Slot[], { start, end }: Appointment): boolean {
  const parts = slots
    .map((slot) => ({ start: parseInstant(slot.start), end: parseInstant(slot.end) }))
    .sort((one, other) => (one.start ?? 0) - (other.start ?? 0));
  return (
    parts[0]?.start === parseInstant(start) &&
    parts.at(-1)?.end === parseInstant(end) &&
    parts.every((part, index) => index === 0 || part.start === parts[index - 1]?.end)
  );
}

const unfittingTime: Rule = (appointment, slots, _state, context) => {
  const bySchedule = Map.groupBy(slots, ({ schedule }) => schedule.reference);
  return [...bySchedule]
    .filter(([, group]) => isSubmitted(appointment, context) && !covers(group, appointment))
    .map(([schedule, group]) => {
      const times = group.map(({ id, start, end }) => `Slot/${id} ${start} – ${end}`).join(', ');
      const own = `${appointment.start} – ${appointment.end}`;
      return finding('slot-time', keyOf(appointment), `Its time is ${own}, on ${schedule} it holds ${times}.`);
    });
};

const resourceTypes = ['Patient', 'RelatedPerson', 'QuestionnaireResponse'] as const;

const missingReferences: Rule = (appointment, _slots, state) => {
  const { participant, supportingInformation = [], extension = [] } = appointment;
  const references = [
    ...participant.map(({ actor }) => actor?.reference),
    ...supportingInformation.map(({ reference }) => reference),
    ...extension.map(({ valueReference }) => valueReference?.reference),
  ];
  return references.flatMap((reference) => {
    const type = [...resourceTypes, 'Appointment'].find((name) => reference?.startsWith(`${name}/`));
    return type && reference && !state.has(reference)
      ? [finding('reference-missing', keyOf(appointment), `It refers to ${reference}, which does not exist.`)]
      : [];
  });
};

const rules: readonly Rule[] = [missingSlots, unfittingStatus, unfittingTime, missingReferences];

/** Checks every open appointment: its slots exist, have the right status and cover its time; its references exist. */
function issuesOfAppointments(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const open = resourcesOfType(state, 'Appointment').filter(neededSlotStatus);
  return open.flatMap((appointment) => {
    const slots = slotIdsOf(appointment).flatMap((id) => findResource(state, 'Slot', id) ?? []);
    return rules.flatMap((rule) => rule(appointment, slots, state, context));
  });
}

/**
 * Whether a Bot, not the clinic, wrote a slot. If Medplum does not show the author, a slot counts as taken by the
 * service if it is marked as a bookable slot.
 */
function isTakenByService(slot: Slot, context: ConsistencyContext): boolean {
  return isByService(slot, context) ?? isMarked(slot, context.config);
}

const MAX_NAMED = 5;

function listed(keys: readonly string[]): string {
  const more = keys.length > MAX_NAMED ? [`${keys.length - MAX_NAMED} more`] : [];
  return [...keys.slice(0, MAX_NAMED), ...more].join(' and ');
}

function issuesOfSlot(
  slot: Slot,
  appointments: readonly Appointment[],
  state: ResourceSet,
  context: ConsistencyContext,
): Finding[] {
  const schedule = idIn(slot.schedule, 'Schedule');
  const key = keyOf(slot);
  return [
    ...(isBooked(slot) && appointments.length === 0 && isTakenByService(slot, context)
      ? [finding('slot-without-appointment', key, `It is ${slot.status}, but no appointment holds it.`)]
      : []),
    ...(appointments.filter((appointment) => !isOverbooking(appointment, context.config)).length > 1
      ? [finding('slot-held-twice', key, `It is held by ${listed(appointments.map(keyOf))}.`)]
      : []),
    ...(schedule && slot.status !== 'entered-in-error' && !state.has(`Schedule/${schedule}`)
      ? [finding('reference-missing', key, `It refers to Schedule/${schedule}, which does not exist.`)]
      : []),
  ];
}

const show = ({ start, end }: Interval): string => `${formatInstant(start)} – ${formatInstant(end)}`;

/** Finds parts of a former Slot, `origin`, that overlap. */
function issuesOfParts(origin: string, parts: readonly CalendarSlot[]): Finding[] {
  const sorted = [...parts].sort((slot, other) => slot.start - other.start);
  const doubled = sorted.filter((part, index) => sorted.slice(0, index).some((earlier) => overlaps(earlier, part)));
  return doubled.map((part) => {
    const diagnostics = `${show(part)} overlaps another part of the former Slot/${origin}.`;
    return finding('fragments-overlap', `Slot/${part.id}`, diagnostics);
  });
}

/**
 * Checks every slot. A slot that the service has taken must be held by one appointment, and the parts of a split slot
 * must not overlap. Missing free time is found by comparison with the rules for publishing (`published-differs`).
 */
function issuesOfSlots(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const holders = holdersOf(resourcesOfType(state, 'Appointment'));
  const slots = resourcesOfType(state, 'Slot');
  const offers = [...calendarOf(slots, context.config).values()].filter(
    ({ status, role }) => status !== 'entered-in-error' && role === 'bookable',
  );
  return [
    ...slots.flatMap((slot) => issuesOfSlot(slot, holders.get(slot.id ?? '') ?? [], state, context)),
    ...[...Map.groupBy(offers, ({ origin }) => origin)].flatMap(([origin, parts]) => issuesOfParts(origin, parts)),
  ];
}

export type { ConsistencyContext, Finding };

/** The age in milliseconds at which an accepted job counts as left over. */
const OVERDUE = 10 * 60_000;

/** Finds an overdue job, and appointments in its result that do not exist. */
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
