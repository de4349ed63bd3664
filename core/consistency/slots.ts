import type { Appointment, Slot } from '@medplum/fhirtypes';
import { holdersOf } from '../booking/appointment/reads.ts';
import { formatInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { isMarked, isOverbooking } from '../fhir/scheduling/slot-marks.ts';
import { type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { type CalendarSlot, calendarOf, isBooked } from '../slots/slot.ts';
import { type Interval, overlaps } from '../time/interval.ts';
import { type ConsistencyContext, type Finding, finding, isByService, keyOf } from './finding.ts';

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
export function issuesOfSlots(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const holders = holdersOf(resourcesOfType(state, 'Appointment'));
  const slots = resourcesOfType(state, 'Slot');
  const offers = [...calendarOf(slots, context.config).values()].filter(
    ({ status, role }) => status !== 'entered-in-error' && role === 'offer',
  );
  return [
    ...slots.flatMap((slot) => issuesOfSlot(slot, holders.get(slot.id ?? '') ?? [], state, context)),
    ...[...Map.groupBy(offers, ({ origin }) => origin)].flatMap(([origin, parts]) => issuesOfParts(origin, parts)),
  ];
}
