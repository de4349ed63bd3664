import type { Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../config/config.ts';
import { canonicalJson } from '../fhir/json.ts';
import { intentsFor } from './intent.ts';
import {
  bufferOf,
  type CalendarSlot,
  calendarOf,
  isBuffer,
  isMarked,
  isTaken,
  offeredExtensionOf,
  offerResource,
  publishedKeyOf,
} from './slot.ts';

/**
 * Whether only its history can tell if a taken Slot was ever offered: the version before did not mark Slots that have
 * identifiers of their own, nor those that staff took.
 */
export function isUnclear(slot: Slot, config: PublicConfig): boolean {
  const isOurs = publishedKeyOf(slot, config) !== undefined || bufferOf(slot, config) !== undefined || isBuffer(slot);
  return isTaken(slot) && !isOurs && !isMarked(slot, config);
}

/** Ids of the Slots that others were split off from, or are buffers for. */
export function originsOf(slots: readonly Slot[], config: PublicConfig): string[] {
  return [...new Set([...calendarOf(slots, config).values()].map(({ origin }) => origin))];
}

function bufferResource(slot: CalendarSlot, config: PublicConfig): Slot {
  const { serviceType: _, extension = [], ...rest } = slot.resource;
  const mark = offeredExtensionOf(slot, config);
  return { ...rest, extension: [...extension.filter(({ url }) => url !== mark.url), mark] };
}

/** A Slot as it is stored, and as it is to be stored. */
interface MarkedSlot {
  readonly stored: Slot;
  readonly resource: Slot;
}

/**
 * Slots that the version before wrote, with the marks that say what they are: taken offers and parts of offers have their
 * origin, place, whole time and services. What has ended, and what is marked already, is left out.
 *
 * @param slots - with their origins, and everything that was split off from these
 * @param offered - ids of those (`isUnclear`) that were once free, as their histories show
 * @param now - milliseconds since 1970 UTC
 */
export function markedSlots(
  slots: readonly Slot[],
  offered: ReadonlySet<string>,
  now: number,
  config: PublicConfig,
): readonly MarkedSlot[] {
  const calendar = calendarOf(slots, config);
  const parts = Map.groupBy(calendar.values(), ({ origin }) => origin);
  return [...calendar.values()].flatMap((found) => {
    const isOffer = found.role === 'offer' || offered.has(found.id);
    const pieces = (parts.get(found.origin) ?? []).filter(({ role }) => role === 'offer');
    const isWhole = found.status === 'free' && pieces.length === 1;
    if (found.end <= now || isWhole || !(isOffer || found.role === 'buffer')) {
      return [];
    }
    const times = [...pieces.map(({ whole }) => whole), ...(isOffer || pieces.length === 0 ? [found.whole] : [])];
    const slot: CalendarSlot = {
      ...found,
      role: isOffer ? 'offer' : 'buffer',
      place: pieces.find(({ id }) => id === found.origin)?.place ?? found.place,
      whole: {
        start: Math.min(...times.map(({ start }) => start)),
        end: Math.max(...times.map(({ end }) => end)),
      },
    };
    const resource = isOffer
      ? offerResource(slot, intentsFor(slot, calendar, now, config), config)
      : bufferResource(slot, config);
    const { resource: stored } = found;
    return canonicalJson(resource) === canonicalJson(stored) ? [] : [{ stored, resource }];
  });
}
