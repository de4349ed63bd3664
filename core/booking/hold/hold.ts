import type { Appointment, Extension } from '@medplum/fhirtypes';
import { artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { type ReasonConfig, reasonOf } from '../appointment/cancelation-reason.ts';

/** The part of the configuration that holds depend on. */
export type HoldConfig = ReasonConfig;

/** How long a hold lasts unless a policy sets another time: ten minutes, in milliseconds. */
export const DEFAULT_HOLD = 600_000;

function extensionOf({ extension }: Appointment, url: string): Extension | undefined {
  return (Array.isArray(extension) ? extension : []).find((one) => one?.url === url);
}

/** The end of a hold, in milliseconds since 1970 UTC; `undefined` if the appointment is not a hold. */
export function heldUntil(appointment: Appointment, config: HoldConfig): number | undefined {
  const found = extensionOf(appointment, artefactUri(config, 'LocalHeldUntil'));
  return found && (parseInstant(found.valueInstant) ?? 0);
}

/** Whether an appointment is a hold, or was one when it was cancelled. */
export function isHold(appointment: Appointment, config: HoldConfig): boolean {
  return heldUntil(appointment, config) !== undefined;
}

/** Whether an appointment is a hold that is neither released nor expired at a given time. */
export function isHolding(appointment: Appointment, now: number, config: HoldConfig): boolean {
  return appointment.status === 'proposed' && now < (heldUntil(appointment, config) ?? 0);
}

/** Whether an appointment is a hold that has expired at a given time and has not been tidied up yet. */
export function isExpired(appointment: Appointment, now: number, config: HoldConfig): boolean {
  const until = heldUntil(appointment, config);
  return appointment.status === 'proposed' && until !== undefined && until <= now;
}

/** Whether a hold was extended, which is possible only once. */
export function isProlonged(appointment: Appointment, config: HoldConfig): boolean {
  return extensionOf(appointment, artefactUri(config, 'LocalHoldProlonged'))?.valueBoolean === true;
}

/** The extensions that make an appointment a hold until a given time. */
export function holdExtensions(until: number, isProlonging: boolean, config: HoldConfig): Extension[] {
  return [
    { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: formatInstant(until) },
    ...(isProlonging ? [{ url: artefactUri(config, 'LocalHoldProlonged'), valueBoolean: true }] : []),
  ];
}

/** An expired hold as it is stored when its time is released. */
export function expired(hold: Appointment, config: HoldConfig): Appointment {
  return { ...hold, status: 'cancelled', cancelationReason: reasonOf('hold-expired', 'The hold is over.', config) };
}

/**
 * Whether a hold has expired, tidied up or not: `$book` can still book it under its id if its time is free. A hold that
 * was cancelled before it expired is closed.
 */
export function hasRunOut(appointment: Appointment, now: number, config: HoldConfig): boolean {
  const system = artefactUri(config, 'LocalBookingError');
  const isMarked = appointment.cancelationReason?.coding?.some(
    (coding) => coding.system === system && coding.code === 'hold-expired',
  );
  const isTidiedUp = appointment.status === 'cancelled' && isMarked === true;
  return isExpired(appointment, now, config) || (isTidiedUp && isHold(appointment, config));
}
