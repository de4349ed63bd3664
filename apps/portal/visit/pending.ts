import { isId } from '../../../core/fhir/reference.ts';
import type { Seal } from '../session/seal.ts';
import { type ChosenTime, formatTime, parseTime } from './chosen-time.ts';

/** A booking that is under way, as it is sealed into the address of its page. */
export interface Pending {
  /** The browser in which the time was chosen: the address is worth nothing in another. */
  readonly browser: string;
  /** The name of the service in addresses. */
  readonly service: string;
  /** The code of the payer kind; empty if the visitor has not said who pays. */
  readonly payer: string;
  readonly time: ChosenTime;
  /** The id of the hold, for a visit those of all its steps with commas between; empty if the time could not be held. */
  readonly hold: string;
  /** The value of the booking's identifier. */
  readonly key: string;
}

/** How long a form may be filled in, in milliseconds. The time itself is held for less. */
const FORM_LENGTH = 24 * 3_600_000;

/**
 * Seals a booking for the address of its page.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function sealPending(seal: Seal, pending: Pending, now: number): Promise<string> {
  return seal.close('booking', { ...pending, time: formatTime(pending.time) }, now + FORM_LENGTH);
}

/** Reads what `sealPending` has made; `undefined` if the text is something else, or has expired. */
export async function openPending(seal: Seal, text: string): Promise<Pending | undefined> {
  const content = await seal.open('booking', text);
  if (typeof content === 'string') {
    return undefined;
  }
  const { browser, service, payer, time, hold, key } = content;
  const parsed = typeof time === 'string' ? parseTime(time) : undefined;
  const isWhole = typeof browser === 'string' && typeof service === 'string' && typeof key === 'string';
  return parsed && isWhole && typeof hold === 'string' && (hold === '' || hold.split(',').every(isId))
    ? { browser, service, payer: typeof payer === 'string' ? payer : '', time: parsed, hold, key }
    : undefined;
}
