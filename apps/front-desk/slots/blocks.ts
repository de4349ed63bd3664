import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isMarked, publishedKeyOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { instantAt, isLocalDay, localDayOf } from '../../../core/time/local-day.ts';
import type { Entry } from '../day/entries.ts';

/** A time as it is typed: two local times, `2027-01-11T09:30`. */
interface TypedPeriod {
  readonly from: string;
  readonly to: string;
}

/** The longest time that can be blocked at once, in milliseconds: a year. */
const MAX_LENGTH = 366 * 86_400_000;

function instantOfTyped(text: string, timeZone: string): number | undefined {
  const [day, time = ''] = text.split('T');
  return isLocalDay(day) && /^([01]\d|2[0-3]):[0-5]\d/.test(time)
    ? instantAt(day, time.slice(0, 5), timeZone)
    : undefined;
}

/** The time that was typed, on the clocks of the clinic; `undefined` if it is not valid, or longer than a year. */
export function typedPeriod({ from, to }: TypedPeriod, timeZone: string): Interval | undefined {
  const [start, end] = [from, to].map((text) => instantOfTyped(text, timeZone));
  return start !== undefined && end !== undefined && start < end && end - start <= MAX_LENGTH
    ? { start, end }
    : undefined;
}

/** A time as it would be typed. */
export function periodText({ start, end }: Interval, timeZone: string): TypedPeriod {
  const text = (time: number): string => {
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(time);
    return `${localDayOf(time, timeZone)}T${clock}`;
  };
  return { from: text(start), to: text(end) };
}

/** The system of the identifier by which a block that is sent twice is made only once. */
const IDENTIFIER_SYSTEM = 'urn:ietf:rfc:3986';

/** The token by which a block is found again. */
export const blockToken = (uuid: string): string => `${IDENTIFIER_SYSTEM}|urn:uuid:${uuid}`;

/**
 * A Slot that blocks time of a calendar, whatever is offered there: free times that it overlaps are withdrawn by the
 * service, and come back when it goes.
 *
 * @param uuid - of this block: the same however often it is sent
 */
export function blockSlot(schedule: string, { start, end }: Interval, reason: string, uuid: string): Slot {
  return {
    resourceType: 'Slot',
    identifier: [{ system: IDENTIFIER_SYSTEM, value: `urn:uuid:${uuid}` }],
    schedule: { reference: `Schedule/${schedule}` },
    status: 'busy-unavailable',
    start: formatInstant(start),
    end: formatInstant(end),
    ...(reason.trim() && { comment: reason.trim() }),
  };
}

/** The appointments that a block would lie over. They stay as they are. */
export function coveredBy(entries: readonly Entry[], time: Interval): readonly Entry[] {
  return entries.filter((entry) => entry.appointment && overlaps(entry, time));
}

/** What can be done with time that is blocked: offer the Slot again, remove the block, or change the closed days. */
type Unblocking = 'free' | 'delete' | 'closed-day';

/** How time that is blocked becomes free. */
export function unblockingOf(slot: Slot, config: PublicConfig): Unblocking {
  if (publishedKeyOf(slot, config)?.kind === 'closed') {
    return 'closed-day';
  }
  return isMarked(slot, config) ? 'free' : 'delete';
}

/** The entry that blocks or unblocks a Slot, unless it has been changed since. */
export function slotEntry(slot: Slot, change: Pick<Slot, 'status' | 'comment'> | 'delete'): BundleEntry {
  const request = { url: `Slot/${slot.id}`, ifMatch: `W/"${slot.meta?.versionId}"` };
  if (change === 'delete') {
    return { request: { ...request, method: 'DELETE' } };
  }
  const { comment: _, ...rest } = slot;
  return { request: { ...request, method: 'PUT' }, resource: { ...rest, ...change } };
}
