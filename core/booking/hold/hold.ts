import type { Appointment, CodeableConcept, Extension } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';

/** The part of the configuration that holds depend on. */
export type HoldConfig = ArtefactConfig;

/** How long a hold lasts where no policy says so: ten minutes, in milliseconds. */
export const DEFAULT_HOLD = 600_000;

function extensionOf({ extension }: Appointment, url: string): Extension | undefined {
  return (Array.isArray(extension) ? extension : []).find((one) => one?.url === url);
}

/** Until when an appointment holds its time, in milliseconds since 1970 UTC; `undefined` if it is no hold. */
export function heldUntil(appointment: Appointment, config: HoldConfig): number | undefined {
  const found = extensionOf(appointment, artefactUri(config, 'LocalHeldUntil'));
  return found && (parseInstant(found.valueInstant) ?? 0);
}

/** Whether an appointment is, or was when it was cancelled, a hold. */
export function isHold(appointment: Appointment, config: HoldConfig): boolean {
  return heldUntil(appointment, config) !== undefined;
}

/** Whether an appointment holds its time at a moment: neither given back nor over. */
export function isHolding(appointment: Appointment, now: number, config: HoldConfig): boolean {
  return appointment.status === 'proposed' && now < (heldUntil(appointment, config) ?? 0);
}

/** Whether an appointment is a hold that is over at a moment and that nobody has tidied up. */
export function isExpired(appointment: Appointment, now: number, config: HoldConfig): boolean {
  const until = heldUntil(appointment, config);
  return appointment.status === 'proposed' && until !== undefined && until <= now;
}

/** Whether a hold was prolonged: that is done once. */
export function isProlonged(appointment: Appointment, config: HoldConfig): boolean {
  return extensionOf(appointment, artefactUri(config, 'LocalHoldProlonged'))?.valueBoolean === true;
}

/** What makes an appointment a hold until a moment. */
export function holdExtensions(until: number, isProlonging: boolean, config: HoldConfig): Extension[] {
  return [
    { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: formatInstant(until) },
    ...(isProlonging ? [{ url: artefactUri(config, 'LocalHoldProlonged'), valueBoolean: true }] : []),
  ];
}

function reason(config: HoldConfig): CodeableConcept {
  const { display } = bookingErrors['hold-expired'];
  const system = artefactUri(config, 'LocalBookingError');
  return { coding: [{ system, code: 'hold-expired', display }], text: 'The hold is over.' };
}

/** A hold that is over, as it is stored when its time is given back. */
export function expired(hold: Appointment, config: HoldConfig): Appointment {
  return { ...hold, status: 'cancelled', cancelationReason: reason(config) };
}

/**
 * Whether the time of a hold ran out, tidied up or not: it can still be booked under its id, if its time is free. One
 * that was cancelled before is closed.
 */
export function hasRunOut(appointment: Appointment, now: number, config: HoldConfig): boolean {
  const system = artefactUri(config, 'LocalBookingError');
  const isMarked = appointment.cancelationReason?.coding?.some(
    (coding) => coding.system === system && coding.code === 'hold-expired',
  );
  return isExpired(appointment, now, config) || (isMarked === true && isHold(appointment, config));
}
