import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isMarked, publishedKeyOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { instantAt, isLocalDay, localDayOf } from '../../../core/time/local-day.ts';
import type { Entry } from '../day/entries.ts';

/** Two local times as typed: `2027-01-11T09:30`. */
interface TypedPeriod {
  readonly from: string;
  readonly to: string;
}

/** Maximum length of a block, in milliseconds: a year. */
const MAX_LENGTH = 366 * 86_400_000;

function instantOfTyped(text: string, timeZone: string): number | undefined {
  const [day, time = ''] = text.split('T');
  return isLocalDay(day) && /^([01]\d|2[0-3]):[0-5]\d/.test(time)
    ? instantAt(day, time.slice(0, 5), timeZone)
    : undefined;
}

/** The typed period in the clinic's time zone; `undefined` if it is not valid, or longer than a year. */
export function typedPeriod({ from, to }: TypedPeriod, timeZone: string): Interval | undefined {
  const [start, end] = [from, to].map((text) => instantOfTyped(text, timeZone));
  return start !== undefined && end !== undefined && start < end && end - start <= MAX_LENGTH
    ? { start, end }
    : undefined;
}

/** A period in the format of the input fields. */
export function periodText({ start, end }: Interval, timeZone: string): TypedPeriod {
  const text = (time: number): string => {
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(time);
    return `${localDayOf(time, timeZone)}T${clock}`;
  };
  return { from: text(start), to: text(end) };
}

const IDENTIFIER_SYSTEM = 'urn:ietf:rfc:3986';

/** The search token of a block. */
export const blockToken = (uuid: string): string => `${IDENTIFIER_SYSTEM}|urn:uuid:${uuid}`;

/** A Slot that blocks time. The service withdraws the free Slots that it overlaps until the block is deleted. */
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

/** The entries of appointments that a block would cover. They stay. */
export function coveredBy(entries: readonly Entry[], time: Interval): readonly Entry[] {
  return entries.filter((entry) => entry.appointment && overlaps(entry, time));
}

/** The ways to free blocked time: free the Slot, delete the block, or change the closed days. */
type Unblocking = 'free' | 'delete' | 'closed-day';

/** The way to free a blocked Slot. */
export function unblockingOf(slot: Slot, config: PublicConfig): Unblocking {
  if (publishedKeyOf(slot, config)?.kind === 'closed') {
    return 'closed-day';
  }
  return isMarked(slot, config) ? 'free' : 'delete';
}

/** The bundle entry that changes or deletes a Slot, if its version is still the same. */
export function slotEntry(slot: Slot, change: Pick<Slot, 'status' | 'comment'> | 'delete'): BundleEntry {
  const request = { url: `Slot/${slot.id}`, ifMatch: `W/"${slot.meta?.versionId}"` };
  if (change === 'delete') {
    return { request: { ...request, method: 'DELETE' } };
  }
  const { comment: _, ...rest } = slot;
  return { request: { ...request, method: 'PUT' }, resource: { ...rest, ...change } };
}
