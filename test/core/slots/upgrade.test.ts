import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { type Calendar, type CalendarSlot, calendarOf, takesTimeOf } from '../../../core/slots/slot.ts';
import { isUnclear, markedSlots, originsOf } from '../../../core/slots/upgrade.ts';

const config = resolveConfig({ baseUrl: 'https://example.org/fhir' });

/** Slots as version 0.1.0 stored them on a Medplum 5.1.23: published and made by hand, booked, split, held, given back. */
const recorded: { slots: Slot[]; onceFree: string[] } = JSON.parse(
  readFileSync('test/core/slots/version-before.json', 'utf8'),
);

const NOW = Date.parse('2026-11-25T01:14:00Z');

function marked(slots: readonly Slot[], offered = recorded.onceFree): Slot[] {
  const changed = new Map(
    markedSlots(slots, new Set(offered), NOW, config).map(({ stored, resource }) => [stored, resource]),
  );
  return slots.map((slot) => changed.get(slot) ?? slot);
}

const after = marked(recorded.slots);
const calendar: Calendar = calendarOf(after, config);

function at(start: string, status: Slot['status']): CalendarSlot {
  const found = [...calendar.values()].find(({ resource }) => resource.start === start && resource.status === status);
  if (!found) {
    throw new Error(`No Slot at ${start}`);
  }
  return found;
}

const iso = ({ start, end }: CalendarSlot['whole']) => [new Date(start).toISOString(), new Date(end).toISOString()];

describe('Slots of the version before', () => {
  test('every taken one that was once free is an offer, and none says by serviceType whom it is taken for', () => {
    const taken = [...calendar.values()].filter(({ status }) => status.startsWith('busy'));
    expect(taken).toHaveLength(6);
    expect(taken.map(({ role }) => role)).toEqual(taken.map(() => 'offer'));
    expect(taken.flatMap(({ resource }) => resource.serviceType ?? [])).toEqual([]);
    expect(taken.every(({ services = [] }) => services.length > 0)).toBe(true);
  });

  test('a part of a published Slot has its place and its whole time', () => {
    const part = at('2026-12-04T08:30:00.000Z', 'free');
    expect(part.place).toBe('1');
    for (const one of [part, at('2026-12-04T08:00:00.000Z', 'busy')]) {
      expect(iso(one.whole)).toEqual(['2026-12-04T08:00:00.000Z', '2026-12-04T12:00:00.000Z']);
    }
  });

  test('a part and a published neighbour over the same time exclude each other', () => {
    const part = at('2026-12-04T08:30:00.000Z', 'free');
    const value = `offer/${part.schedule}/other/2026-12-04T08:15:00.000Z/1`;
    const neighbour = calendarOf(
      [
        {
          resourceType: 'Slot',
          id: 'neighbour',
          schedule: part.resource.schedule,
          status: 'busy',
          identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value }],
          start: '2026-12-04T08:15:00Z',
          end: '2026-12-04T08:45:00Z',
        },
      ],
      config,
    ).get('neighbour');
    expect(neighbour && takesTimeOf(neighbour, part)).toBe(true);
  });

  test('a buffer has the place of what was booked, and no serviceType', () => {
    const booked = at('2026-12-04T08:00:00.000Z', 'busy');
    const buffer: Slot = {
      resourceType: 'Slot',
      id: 'buffer',
      schedule: booked.resource.schedule,
      identifier: [
        { system: artefactUri(config, 'LocalBuffer'), value: booked.id },
        { system: artefactUri(config, 'LocalSlotOrigin'), value: booked.origin },
      ],
      serviceType: [{ text: 'CT' }],
      status: 'busy-unavailable',
      start: '2026-12-04T08:30:00Z',
      end: '2026-12-04T08:40:00Z',
      comment: 'buffer after appointment',
    };
    const written = marked([...recorded.slots, buffer]).at(-1);
    expect(written?.serviceType).toBeUndefined();
    const [found] = calendarOf(written ? [written] : [], config).values();
    expect(found).toMatchObject({ role: 'buffer', place: '1', origin: booked.origin, whole: booked.whole });
  });

  test('only the history tells of Slots with identifiers of their own; what never was free stays a taking', () => {
    const unclear = recorded.slots.filter((slot) => isUnclear(slot, config));
    expect(unclear.map(({ start }) => start)).toEqual(['2026-12-15T08:30:00.000Z']);
    const [stored] = unclear;
    const [kept] = marked(stored ? [stored] : [], []);
    expect(kept).toBe(stored);
  });

  test('their origins are found, and a second run changes nothing', () => {
    expect(originsOf(recorded.slots, config)).toHaveLength(7);
    expect(markedSlots(after, new Set(recorded.onceFree), NOW, config)).toEqual([]);
  });
});
