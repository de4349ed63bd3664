import type { Appointment, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../config/config.ts';
import { parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isBooked, isFromBeforeTaken, isTaken } from '../../slots/slot.ts';
import { hasEnded } from '../appointment/expiry.ts';
import { holdsSlots, statusQuery } from '../appointment/status.ts';
import { searchUrl } from '../search.ts';

/** The address of the search for the appointments that hold a Slot, with the Slots that they name. */
export function holdersUrl(id: string): string {
  return searchUrl('Appointment', [
    ['slot', `Slot/${id}`],
    ['status', statusQuery(holdsSlots)],
    ['_include', 'Appointment:slot'],
    ['_count', '20'],
  ]);
}

const isMoved = (changed: Slot, stored: Slot): boolean =>
  (['start', 'end'] as const).some((name) => parseInstant(changed[name]) !== parseInstant(stored[name])) ||
  changed.schedule?.reference !== stored.schedule.reference;

/**
 * Why clinic staff may not write a Slot as it is about to be stored: an appointment holds it, and its time would be offered
 * to others. Staff may block it (`busy-unavailable`).
 *
 * @param changed - as it is about to be stored
 * @param stored - as it is
 * @param appointments - those that hold it (`holdersUrl`)
 * @param now - milliseconds since 1970 UTC: an expired hold or request holds nothing, tidied up or not
 * @returns `transition-not-allowed` if it would no longer be taken, `immutable-element` if it would have another time or
 *   Schedule, `slot-not-free` if it is taken from what was read before the appointment had it
 */
export function heldSlotIssues(
  changed: Slot,
  stored: Slot | undefined,
  appointments: readonly Appointment[],
  now: number,
  config: PublicConfig,
): Issue[] {
  const holder = appointments.find((one) => holdsSlots(one) && !hasEnded(one, now, config));
  if (!holder || !stored) {
    return [];
  }
  const held = `Slot/${stored.id} is held by Appointment/${holder.id} (${holder.status})`;
  const advice = 'To free its time, cancel the appointment; to move it, book it again with its id.';
  const isLate = isBooked(changed) && isFromBeforeTaken(changed, stored, config);
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
    ...(isMoved(changed, stored)
      ? [
          {
            code: 'immutable-element' as const,
            diagnostics: `${held} and cannot have another time or schedule. ${advice}`,
            expression: 'Slot',
          },
        ]
      : []),
  ];
}
