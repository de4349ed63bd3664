import type { Appointment } from '@medplum/fhirtypes';
import type { BookingErrorCode } from '../../fhir/outcome/errors.ts';
import { type DeadlineConfig, isOverdue, unconfirmed, wasUnconfirmed } from '../confirmation/deadline.ts';
import { expired, hasRunOut, isExpired } from '../hold/hold.ts';

/** How an appointment ends by itself at a moment that it contains, whether or not it is tidied up then. */
interface Ending {
  /** The code of its cancellation reason. */
  readonly code: Extract<BookingErrorCode, 'hold-expired' | 'confirmation-expired'>;
  /** What its owner is told once its time is taken. */
  readonly taken: string;
  /** Whether it has ended at a given time and has not been tidied up yet. */
  readonly isOver: (appointment: Appointment, now: number, config: DeadlineConfig) => boolean;
  /** Whether it has ended at a given time, tidied up or not. */
  readonly wasOver: (appointment: Appointment, now: number, config: DeadlineConfig) => boolean;
  /** The appointment as it is stored when its time is given back. */
  readonly end: (appointment: Appointment, config: DeadlineConfig) => Appointment;
}

const endings: readonly Ending[] = [
  {
    code: 'hold-expired',
    taken: 'The hold has expired, and its time has since been taken: search for another time.',
    isOver: isExpired,
    wasOver: hasRunOut,
    end: expired,
  },
  {
    code: 'confirmation-expired',
    taken:
      'The clinic did not confirm the request in time, and its time has since been taken: search for another time.',
    isOver: isOverdue,
    wasOver: wasUnconfirmed,
    end: unconfirmed,
  },
];

/**
 * Whether an appointment has ended although it is still stored as open: a hold or a request whose time has run out. It no
 * longer has a right to its slots.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function hasEnded(appointment: Appointment, now: number, config: DeadlineConfig): boolean {
  return endings.some(({ isOver }) => isOver(appointment, now, config));
}

/**
 * An appointment as it is to be stored at a given time: cancelled with a coded reason if it has ended, else unchanged.
 */
export function afterItsEnd(appointment: Appointment, now: number, config: DeadlineConfig): Appointment {
  return endings.find(({ isOver }) => isOver(appointment, now, config))?.end(appointment, config) ?? appointment;
}

/** How an appointment ended by itself, tidied up or not; it can be booked again under its id if its time is free. */
export function endingOf(appointment: Appointment, now: number, config: DeadlineConfig): Ending | undefined {
  return endings.find(({ wasOver }) => wasOver(appointment, now, config));
}
