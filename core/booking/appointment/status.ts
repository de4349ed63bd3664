import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isHeld, type SlotUse, slotStatusOf, type TakenStatus } from '../../slots/slot.ts';

/**
 * The party that changes the status of an appointment: the portal that booked it, the staff of the clinic, or the
 * service (by `$book`, or because a patient no longer exists).
 */
export type Changer = 'requestor' | 'staff' | 'service';

type AppointmentStatus = Appointment['status'];

interface StatusRule {
  readonly slots: SlotUse;
  /** Whether the appointment is in the future or in progress. Its patients must then exist and be active. */
  readonly isOpen: boolean;
  /** The statuses that may follow, and who may set each. */
  readonly next: Readonly<Partial<Record<AppointmentStatus, readonly Changer[]>>>;
}

const everybody: readonly Changer[] = ['requestor', 'staff', 'service'];
const clinic: readonly Changer[] = ['staff'];
const service: readonly Changer[] = ['service'];
const cancelledWithPatient = { cancelled: service };

/**
 * The meaning of each status, and the allowed changes. A change that is not in the table is refused. Every other rule
 * about a status is derived from this table.
 * @see specification section 3; https://hl7.org/fhir/R4/valueset-appointmentstatus.html
 */
const statusTable: Readonly<Record<AppointmentStatus, StatusRule>> = {
  proposed: { slots: 'held', isOpen: true, next: { booked: service, pending: service, cancelled: everybody } },
  pending: { slots: 'requested', isOpen: true, next: { booked: ['staff', 'service'], cancelled: everybody } },
  booked: {
    slots: 'confirmed',
    isOpen: true,
    next: {
      pending: service,
      cancelled: everybody,
      arrived: clinic,
      'checked-in': clinic,
      fulfilled: clinic,
      noshow: clinic,
    },
  },
  arrived: {
    slots: 'confirmed',
    isOpen: true,
    // Back to booked: staff had marked the wrong patient as arrived.
    next: { booked: clinic, 'checked-in': clinic, fulfilled: clinic, noshow: clinic, ...cancelledWithPatient },
  },
  'checked-in': {
    slots: 'confirmed',
    isOpen: true,
    next: { fulfilled: clinic, noshow: clinic, ...cancelledWithPatient },
  },
  waitlist: { slots: 'held', isOpen: true, next: { cancelled: everybody } },
  fulfilled: { slots: 'confirmed', isOpen: false, next: {} },
  noshow: { slots: 'held', isOpen: false, next: {} },
  cancelled: { slots: 'given-back', isOpen: false, next: {} },
  'entered-in-error': { slots: 'given-back', isOpen: false, next: {} },
};

function isStatus(value: unknown): value is AppointmentStatus {
  return typeof value === 'string' && Object.hasOwn(statusTable, value);
}

/** Every status that FHIR R4 knows. */
export const statuses: readonly AppointmentStatus[] = Object.keys(statusTable).filter(isStatus);

type HasStatus = Pick<Appointment, 'status'>;

/** Whether an appointment is in the future or in progress. Its patients must then exist and be active. */
export function isOpen({ status }: HasStatus): boolean {
  return statusTable[status]?.isOpen ?? false;
}

export function mayBecome({ status }: HasStatus, wanted: AppointmentStatus, changer: Changer): boolean {
  return statusTable[status]?.next[wanted]?.includes(changer) ?? false;
}

/** Whether an appointment can be sent to `$book` again to be moved, or be replaced by another one. */
export function canBeMoved(appointment: HasStatus): boolean {
  return mayBecome(appointment, 'booked', 'service') || mayBecome(appointment, 'pending', 'service');
}

/** The use of an appointment's slots, by its status. An unknown status counts as `held`. */
export function slotUseOf({ status }: HasStatus): SlotUse {
  return statusTable[status]?.slots ?? 'held';
}

export function holdsSlots(appointment: HasStatus): boolean {
  return isHeld(slotUseOf(appointment));
}

/** The status that the slots of an open appointment must have; `undefined` if any status is allowed. */
export function neededSlotStatus(appointment: HasStatus): TakenStatus | undefined {
  return isOpen(appointment) ? slotStatusOf(slotUseOf(appointment)) : undefined;
}

/**
 * The statuses for which a condition holds, as the value of the search parameter `status`.
 * @param holds - such as `isOpen`
 */
export function statusQuery(holds: (appointment: HasStatus) => boolean): string {
  return statuses.filter((status) => holds({ status })).join(',');
}

/** @returns `malformed-request` if a value is not a status of an appointment */
export function statusIssues(value: unknown, expression: string): Issue[] {
  const diagnostics = `Appointment.status must be one of ${statuses.join(', ')}.`;
  return isStatus(value) ? [] : [{ code: 'malformed-request', diagnostics, expression }];
}

/**
 * Checks whether a change of status is allowed.
 * @returns `transition-not-allowed` if it is not; nothing if the status stays the same
 */
export function transitionIssues(from: AppointmentStatus, to: AppointmentStatus, changer: Changer): Issue[] {
  if (from === to || mayBecome({ status: from }, to, changer)) {
    return [];
  }
  const allowed = statuses.filter((status) => mayBecome({ status: from }, status, changer));
  const rest =
    allowed.length > 0 ? `Allowed from ${from}: ${allowed.join(', ')}.` : `No change from ${from} is allowed.`;
  const diagnostics = `The ${changer} cannot change an appointment from ${from} to ${to}. ${rest}`;
  return [{ code: 'transition-not-allowed', diagnostics, expression: 'Appointment.status' }];
}
