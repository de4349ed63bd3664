import type { Extension, Slot } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isByService, type ServiceConfig } from '../../fhir/service-author.ts';
import { inWriteOrder, updateEntry } from '../../fhir/update-entry.ts';
import { type Interval, overlaps } from '../../time/interval.ts';
import { isBooked, isBuffer, isOverbooking, type PlacedSlot, placedSlots, takesFrom } from './slot-role.ts';

/**
 * How long a request of another writer may take from its first read to its end, in milliseconds. That request may not
 * know of a younger booking, and a booking may not yet know of the request's own Slot.
 */
export const LONGEST_REQUEST = 30_000;

/** The longest buffers of the services of a Schedule, in milliseconds. */
export interface Buffers {
  readonly before: number;
  readonly after: number;
}

/** What a Slot that is about to be stored requires of the others. */
export interface TakingPlan {
  /** Why it cannot be stored. */
  readonly issues: readonly Issue[];
  /** The free Slots in which that time must not be booked until the Slot is stored. */
  readonly withheld: readonly Slot[];
  readonly time: Interval;
}

/** Time of a Slot that is withheld, and until when. */
interface Withholding extends Interval {
  readonly until: number;
}

function withholdingIn({ extension = [] }: Extension): Withholding {
  const period = extension.find(({ url }) => url === 'time')?.valuePeriod;
  const until = parseInstant(extension.find(({ url }) => url === 'until')?.valueInstant) ?? 0;
  return { start: parseInstant(period?.start) ?? 0, end: parseInstant(period?.end) ?? 0, until };
}

/** The extensions by which time of a Slot is withheld at a moment. */
function withholdings({ extension = [] }: Slot, now: number, config: ArtefactConfig): Extension[] {
  const url = artefactUri(config, 'LocalWithheld');
  return extension.filter((one) => one.url === url && now < withholdingIn(one).until);
}

/** Whether a time within a free Slot must not be booked at a moment, because it is about to be taken. */
export function isWithheld(slot: Slot, time: Interval, now: number, config: ArtefactConfig): boolean {
  return withholdings(slot, now, config).some((one) => overlaps(withholdingIn(one), time));
}

/** A Slot without the marks on time that it has since lost or got back: what took that time is stored, or gone. */
export function withoutWithheld(slot: Slot, changed: readonly Interval[], config: ArtefactConfig): Slot {
  const url = artefactUri(config, 'LocalWithheld');
  const { extension = [], ...rest } = slot;
  const kept = extension.filter(
    (one) => one.url !== url || !changed.some((time) => overlaps(withholdingIn(one), time)),
  );
  return kept.length > 0 ? { ...rest, extension: kept } : rest;
}

/** The transaction entries that withhold time of free Slots, each on condition of the version that was read. */
export function withholdEntries({ withheld, time }: TakingPlan, now: number, config: ArtefactConfig) {
  const url = artefactUri(config, 'LocalWithheld');
  const valuePeriod = { start: formatInstant(time.start), end: formatInstant(time.end) };
  const mark: Extension = {
    url,
    extension: [
      { url: 'time', valuePeriod },
      { url: 'until', valueInstant: formatInstant(now + LONGEST_REQUEST) },
    ],
  };
  return inWriteOrder(
    withheld.map((slot) => {
      const others = (slot.extension ?? []).filter((one) => one.url !== url);
      return updateEntry(slot, { ...slot, extension: [...others, ...withholdings(slot, now, config), mark] });
    }),
  );
}

/** Whether a Slot was booked through the service so recently that the writer who takes its time may not have seen it. */
function isNewBooking({ resource }: PlacedSlot, now: number, config: ServiceConfig): boolean {
  const { meta } = resource;
  const age = now - (parseInstant(meta?.lastUpdated) ?? 0);
  return isBooked(resource) && isByService(meta, config) && age < LONGEST_REQUEST;
}

/** A block that a person sets may lie over appointments: these are cancelled or moved one by one. */
const isAppointment = (taking: Slot): boolean => taking.status !== 'busy-unavailable' || isBuffer(taking);

function collision(taking: Slot, { id, start, end }: PlacedSlot, config: ArtefactConfig): Issue {
  const url = artefactUri(config, 'LocalOverbooking');
  return {
    code: 'schedule-overbooked',
    diagnostics: `Slot/${id} was booked a moment ago, from ${formatInstant(start)} to ${formatInstant(end)}: look at the calendar again. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: taking.id ? `Slot.where(id = '${taking.id}')` : 'Slot',
  };
}

/**
 * Decides about a Slot that takes time as soon as it is created, before it is stored: its writer read the calendar
 * earlier, and may write nothing in common with a simultaneous booking. A booking that already exists makes the write
 * fail; the free Slots that it overlaps are withheld, which makes a later booking fail.
 *
 * @param taking - as it is about to be stored
 * @param slots - of its Schedule, those that overlap it or its buffers, with their authors
 * @param now - milliseconds since 1970 UTC
 */
export function planTaking(
  taking: Slot,
  slots: readonly Slot[],
  { before, after }: Buffers,
  now: number,
  config: ArtefactConfig & ServiceConfig,
): TakingPlan {
  const [start, end] = [parseInstant(taking.start), parseInstant(taking.end)];
  const placed = placedSlots(slots, new Set(), config);
  const stored = placed.find(({ id }) => id === taking.id);
  // What was once on offer takes only its own place.
  if (start === undefined || end === undefined || start >= end || (stored && stored.role.kind !== 'taking')) {
    return { issues: [], withheld: [], time: { start: 0, end: 0 } };
  }
  const others = placed.filter((slot) => slot !== stored && takesFrom(taking, slot.resource.serviceType));
  const time: Interval = { start: start - after, end: end + before };
  const found = others.find((slot) => overlaps(slot, { start, end }) && isNewBooking(slot, now, config));
  if (found && isAppointment(taking) && !isOverbooking(taking, config)) {
    return { issues: [collision(taking, found, config)], withheld: [], time };
  }
  const free = others.filter((slot) => slot.resource.status === 'free' && overlaps(slot, time));
  return { issues: [], withheld: free.map(({ resource }) => resource), time };
}
