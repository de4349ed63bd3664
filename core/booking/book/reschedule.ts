import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';
import { findResource, idIn, type ResourceSet } from '../resource-set.ts';
import { type Calendar, isHeld, release, type SlotUse } from '../slots/calendar.ts';
import type { BookRequest } from './request.ts';

/** The appointments that a booking changes besides the one it makes. */
export interface EarlierAppointments {
  /** The appointment that is sent again under its own id, to be moved. */
  readonly previous?: Appointment | undefined;
  /** The appointment that the new one replaces. */
  readonly replaced?: Appointment | undefined;
  readonly issues: readonly Issue[];
}

const open: ReadonlySet<Appointment['status']> = new Set(['proposed', 'pending', 'booked']);

/** Whether an appointment can still be moved, replaced or cancelled by its requestor. */
export function isOpen({ status }: Appointment): boolean {
  return open.has(status);
}

/** What an appointment needs its slots for, where not just to be held. */
const uses: Readonly<Partial<Record<Appointment['status'], SlotUse>>> = {
  pending: 'busy-tentative',
  booked: 'busy',
  arrived: 'busy',
  'checked-in': 'busy',
  fulfilled: 'busy',
  cancelled: 'remembered',
  'entered-in-error': 'remembered',
};

/** How an appointment refers to its slots: those of one that is cancelled or void have been given back. */
export function slotUseOf({ status }: Appointment): SlotUse {
  return uses[status] ?? 'held';
}

/** Whether the slots of an appointment belong to it. */
export function holdsSlots(appointment: Appointment): boolean {
  return isHeld(slotUseOf(appointment));
}

function closedIssue({ id, status }: Appointment, expression: string): Issue {
  const diagnostics = `Appointment/${id} is ${status} and can no longer be changed; book a new one.`;
  return { code: 'appointment-closed', diagnostics, expression };
}

function replacedIssues({ replaced, appointment }: BookRequest, found: Appointment | undefined): Issue[] {
  if (!replaced) {
    return [];
  }
  const { value: id, path } = replaced;
  if (id === appointment.value.id) {
    const diagnostics = 'An appointment cannot replace itself; send it again under its id to move it.';
    return [{ code: 'malformed-request', diagnostics, expression: path }];
  }
  if (!found) {
    const diagnostics = `There is no Appointment/${id} that could be replaced.`;
    return [{ code: 'replaced-appointment-not-found', diagnostics, expression: path }];
  }
  return isOpen(found) ? [] : [closedIssue(found, path)];
}

/**
 * Finds the appointments that a request moves or replaces. An id that the caller cannot see is no id of an appointment:
 * the booking is a new one.
 *
 * @returns them, and `appointment-closed`, `replaced-appointment-not-found` where they cannot be changed
 * @see specification section 3, re-submission
 */
export function findEarlierAppointments(request: BookRequest, state: ResourceSet): EarlierAppointments {
  const { value, path } = request.appointment;
  const previous = value.id === undefined ? undefined : findResource(state, 'Appointment', value.id);
  const replaced = request.replaced && findResource(state, 'Appointment', request.replaced.value);
  return {
    previous,
    replaced,
    issues: [
      ...(previous && !isOpen(previous) ? [closedIssue(previous, `${path}.id`)] : []),
      ...replacedIssues(request, replaced),
    ],
  };
}

/** The ids of the slots that an appointment holds. */
export function slotIdsOf(appointment: Appointment | undefined): string[] {
  return (appointment?.slot ?? []).flatMap((reference) => idIn(reference, 'Slot') ?? []);
}

/** Gives back the slots of the appointments that a booking moves or replaces. */
export function releaseEarlierSlots(calendar: Calendar, { previous, replaced }: EarlierAppointments): Calendar {
  return [previous, replaced]
    .filter((earlier) => earlier && isOpen(earlier))
    .flatMap(slotIdsOf)
    .reduce(release, calendar);
}
