import type { Appointment, Slot } from '@medplum/fhirtypes';
import { unfittingSlots } from '../booking/appointment/reads.ts';
import { neededSlotStatus } from '../booking/appointment/status.ts';
import { parseInstant } from '../fhir/instant.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { slotIdsOf } from '../slots/slot.ts';
import { type ConsistencyContext, type Finding, finding, isSubmitted, keyOf } from './finding.ts';

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
export function issuesOfAppointments(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const open = resourcesOfType(state, 'Appointment').filter(neededSlotStatus);
  return open.flatMap((appointment) => {
    const slots = slotIdsOf(appointment).flatMap((id) => findResource(state, 'Slot', id) ?? []);
    return rules.flatMap((rule) => rule(appointment, slots, state, context));
  });
}
