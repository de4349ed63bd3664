import type { Extension, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { slotChanges } from '../../../core/slots/entries.ts';
import { settle } from '../../../core/slots/settle.ts';
import { type Calendar, type CalendarSlot, calendarOf } from '../../../core/slots/slot.ts';
import type { Terms } from '../../../core/slots/terms.ts';
import { at, config, slot } from '../booking/support.ts';

const MINUTE = 60_000;

/** A time on the day that the tests play on. */
export const between = (start: string, end: string) => ({ start: Date.parse(at(start)), end: Date.parse(at(end)) });

/** Terms in minutes: by default no buffers, and appointments of ten minutes. */
export const terms = ({ before = 0, after = 0, shortest = 10 } = {}): Terms => ({
  before: before * MINUTE,
  after: after * MINUTE,
  shortest: shortest * MINUTE,
  services: undefined,
  capacity: 1,
});

/** The extension LocalSlotOffer with a place, a whole time, or both. */
export const offered = (lane?: string, start?: string, end?: string): Extension => ({
  url: artefactUri(config, 'LocalSlotOffer'),
  extension: [
    ...(start && end ? [{ url: 'period', valuePeriod: { start: at(start), end: at(end) } }] : []),
    ...(lane ? [{ url: 'lane', valueString: lane }] : []),
  ],
});

export const origin = (value: string): Partial<Slot> => ({
  identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value }],
});

/** A Slot at a place of its own. */
export const inPlace = (lane: string, id: string, start: string, end: string, more: Partial<Slot> = {}): Slot =>
  slot(id, start, end, { extension: [offered(lane)], ...more });

/** A Slot that was published for the first or another place. */
export const published = (id: string, start: string, end: string, lane = 1, more: Partial<Slot> = {}): Slot =>
  slot(id, start, end, {
    identifier: [
      { system: artefactUri(config, 'LocalPublishedSlot'), value: `bookable/calendar/visit/${at(start)}/${lane}` },
    ],
    ...more,
  });

/** A calendar with some of its Slots changed, new ones included. */
export const changed = (before: Calendar, ...slots: readonly CalendarSlot[]): Calendar =>
  new Map([...before, ...slots.map((one) => [one.id, one] as const)]);

/** One Slot as the rules see it. */
export function seen(one: Slot): CalendarSlot {
  const [found] = calendarOf([one], config).values();
  if (!found) {
    throw new Error('The Slot has no time.');
  }
  return found;
}

/** What is stored once a change was settled. */
export function stored(before: Calendar, after: Calendar, own: Terms = terms()): Slot[] {
  let count = 0;
  const settled = settle(before, after, { termsOf: () => own, newId: () => `urn:uuid:new-${++count}` });
  const written = slotChanges(before, settled, config).map(({ stored: old, resource }) => ({
    ...resource,
    id: old?.id ?? `made-${++count}`,
  }));
  const byId = new Map([...before.values()].map(({ id, resource }) => [id, resource]));
  return [...new Map([...byId, ...written.map((one) => [one.id, one] as const)]).values()];
}

/** Free Slots as `09:00-09:30`, in order. */
export const freeIn = (slots: readonly Slot[]): string[] =>
  slots
    .filter(({ status }) => status === 'free')
    .map(({ start, end }) => `${start.slice(11, 16)}-${end.slice(11, 16)}`)
    .sort();
