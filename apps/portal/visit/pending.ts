import { isId } from '../../../core/fhir/reference.ts';
import type { Seal } from '../session/seal.ts';
import { type ChosenTime, formatTime, parseTime } from './chosen-time.ts';

/** A booking in progress, as it is sealed into the URL of its page. */
export interface Pending {
  /** Id of the browser that chose the time; the URL is invalid in others. */
  readonly browser: string;
  readonly service: string;
  /** Code of the payer kind; empty if none was selected. */
  readonly payer: string;
  readonly time: ChosenTime;
  /** Id of the hold; for a visit the ids of its steps, separated by commas. Empty if the time could not be held. */
  readonly hold: string;
  /** Value of the booking's identifier. */
  readonly key: string;
}

/** Validity of a form, in milliseconds; the hold ends earlier. */
const FORM_LENGTH = 24 * 3_600_000;

/** Seals a booking for the URL of its page. `now` is in milliseconds since 1970 UTC. */
export function sealPending(seal: Seal, pending: Pending, now: number): Promise<string> {
  return seal.close('booking', { ...pending, time: formatTime(pending.time) }, now + FORM_LENGTH);
}

/** Opens a text of `sealPending`; `undefined` if it is invalid or expired. */
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
