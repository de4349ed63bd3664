import { isId } from '../../../core/fhir/reference.ts';
import type { Seal } from '../session/seal.ts';
import { LINK_AFTER } from '../session/session.ts';
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
  /**
   * The id of the hold, for a visit those of all its steps with commas between; empty if the time could not be held. Once the
   * time was asked for: the id of the job.
   */
  readonly hold: string;
  /** The value of the booking's identifier. */
  readonly key: string;
}

/** How long a form may be filled in, in milliseconds. The time itself is held for less. */
const FORM_LENGTH = 24 * 3_600_000;

/** What an address is for: the form, or what becomes of a time that was asked for. */
type Page = 'booking' | 'draw';

/**
 * Seals a booking for the address of its page.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function sealPending(seal: Seal, pending: Pending, now: number, page: Page = 'booking'): Promise<string> {
  const { time } = pending;
  const end = page === 'draw' ? time.end + LINK_AFTER : now + FORM_LENGTH;
  return seal.close(page, { ...pending, time: formatTime(time) }, end);
}

/** Reads what `sealPending` has made; `undefined` if the text is something else, or has expired. */
export async function openPending(seal: Seal, text: string, page: Page = 'booking'): Promise<Pending | undefined> {
  const content = await seal.open(page, text);
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
