import type { Appointment, Resource, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { searchUrl } from '../../rows/search.ts';
import { isBooked, isFromBeforeTaken, isTaken, slotIdsOf } from '../../slots/slot.ts';
import { hasEnded } from './expiry.ts';
import { holdsSlots, neededSlotStatus, statusQuery } from './status.ts';

/** The search for the appointments that hold a Slot, and for all Slots of these appointments. */
export function holdersUrl(id: string): string {
  return searchUrl('Appointment', [
    ['slot', `Slot/${id}`],
    ['status', statusQuery(holdsSlots)],
    ['_include', 'Appointment:slot'],
    ['_count', '20'],
  ]);
}

/** The appointment that holds a Slot. Expired ones do not count. */
export const holderOf = (found: readonly Resource[], now: number, config: PublicConfig): Appointment | undefined =>
  found.flatMap((resource) =>
    isResource(resource, 'Appointment') && holdsSlots(resource) && !hasEnded(resource, now, config) ? [resource] : [],
  )[0];

export const hasOtherTime = (changed: Slot, stored: Slot): boolean =>
  (['start', 'end'] as const).some((name) => parseInstant(changed[name]) !== parseInstant(stored[name]));

/**
 * Finds the reasons against moving a held Slot. The appointment would follow it, but its other Slots would not.
 * @param found - the appointments that hold it with their Slots (`holdersUrl`)
 */
function slotMoveIssues(
  changed: Slot,
  stored: Slot,
  holder: Appointment,
  found: readonly Resource[],
  now: number,
): Issue[] {
  const isOfHolder = ({ id = '' }: Slot): boolean => slotIdsOf(holder).includes(id);
  const slots = found.flatMap((resource) => (isResource(resource, 'Slot') && isOfHolder(resource) ? [resource] : []));
  const holders = found.filter((resource) => isResource(resource, 'Appointment') && holdsSlots(resource));
  const isAlone =
    changed.schedule?.reference === stored.schedule.reference &&
    holders.length === 1 &&
    slots.every(({ schedule }) => schedule.reference === stored.schedule.reference) &&
    neededSlotStatus(holder) !== undefined;
  const diagnostics = `Slot/${stored.id} is held by Appointment/${holder.id} (${holder.status}): to move it, give the appointment another time or other Slots.`;
  const start = parseInstant(changed.start) ?? 0;
  const isLate = start <= now && start !== parseInstant(stored.start);
  return [
    ...(isAlone ? [] : [{ code: 'slot-mismatch' as const, diagnostics, expression: 'Slot' }]),
    ...(isLate
      ? [{ code: 'start-in-past' as const, diagnostics: `${changed.start} has passed.`, expression: 'Slot.start' }]
      : []),
  ];
}

/**
 * Finds the reasons against a write to a Slot by clinic staff while an appointment holds it. Its time must not become
 * bookable. Staff may block it (`busy-unavailable`), and move it: the appointment follows.
 * @param changed - the Slot about to be stored
 * @param stored - the Slot as it is
 * @param found - the appointments that hold it, with their Slots (`holdersUrl`)
 * @param now - milliseconds since 1970 UTC: an expired hold or request holds nothing
 * @returns `transition-not-allowed` if it would no longer be taken, `slot-mismatch` if the appointment cannot follow
 *   it, `start-in-past`, `slot-not-free` if it is taken from a version read before the appointment had it
 */
export function heldSlotIssues(
  changed: Slot,
  stored: Slot | undefined,
  found: readonly Resource[],
  now: number,
  config: PublicConfig,
): Issue[] {
  const holder = holderOf(found, now, config);
  if (!holder || !stored) {
    return [];
  }
  const held = `Slot/${stored.id} is held by Appointment/${holder.id} (${holder.status})`;
  const advice = 'To free its time, cancel the appointment.';
  // The author of the appointment may take its Slot, too: both are one act.
  const author = holder.meta?.author?.reference;
  const isOwn = author !== undefined && author === changed.meta?.author?.reference;
  const isLate = !isOwn && isBooked(changed) && isFromBeforeTaken(changed, stored, config);
  return [
    ...(isLate
      ? [
          {
            code: 'slot-not-free' as const,
            diagnostics: `${held} since you read it: look at the calendar again. To confirm it, confirm the appointment.`,
            expression: 'Slot.status',
          },
        ]
      : []),
    ...(isTaken(changed)
      ? []
      : [
          {
            code: 'transition-not-allowed' as const,
            diagnostics: `${held} and cannot become ${changed.status}. ${advice}`,
            expression: 'Slot.status',
          },
        ]),
    ...(hasOtherTime(changed, stored) || changed.schedule?.reference !== stored.schedule.reference
      ? slotMoveIssues(changed, stored, holder, found, now)
      : []),
  ];
}
