import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { findChain } from '../../../core/slots/chain.ts';
import { type ExternalSlot, planExternalSlot } from '../../../core/slots/guard.ts';
import { settle, withGivenBack, withTaken } from '../../../core/slots/settle.ts';
import { type Calendar, calendarOf, isTaken } from '../../../core/slots/slot.ts';
import { at, config, slot } from '../booking/support.ts';
import { between, changed, freeIn, inPlace, origin, published, seen, stored, terms } from './support.ts';

describe('chain', () => {
  const between = (start: string, end: string) => ({ start: Date.parse(at(start)), end: Date.parse(at(end)) });

  const slots = (...given: readonly (readonly [id: string, start: string, end: string])[]) => [
    ...calendarOf(
      given.map((one) => slot(...one)),
      config,
    ).values(),
  ];

  const idsOf = (chain: readonly { readonly id: string }[] | undefined) => chain?.map(({ id }) => id);

  describe('of several slots for a time, those are chosen that leave the least over', () => {
    it.each([
      ['before it', slots(['long', '08:00', '10:00'], ['short', '08:45', '10:00']), 'short'],
      ['after it', slots(['long', '09:00', '12:00'], ['short', '09:00', '10:00']), 'short'],
      ['before it, whatever their order', slots(['short', '08:45', '10:00'], ['long', '08:00', '10:00']), 'short'],
      ['after it, whatever their order', slots(['short', '09:00', '10:00'], ['long', '09:00', '12:00']), 'short'],
    ])('%s', (_, given, expected) => {
      expect(idsOf(findChain(given, between('09:00', '10:00')))).toEqual([expected]);
    });
  });
});

describe('guard', () => {
  const external = seen(slot('taking', '09:00', '09:30', { status: 'busy' }));

  /** The conflict and the excluded offers, by id. */
  function planned(slots: readonly Slot[], more: Partial<ExternalSlot> = {}, own = terms()) {
    const { start, end } = external;
    const calendar = calendarOf(slots, config);
    const whole: ExternalSlot = { start, end, from: external, against: 'everything', ...more };
    const { conflict, excluded } = planExternalSlot(whole, calendar, new Set(), () => own, { ...config });
    return [conflict?.id, excluded.map(({ id }) => id)];
  }

  describe('time that staff are about to take', () => {
    const one = published('one', '09:00', '09:30');
    const two = published('two', '09:00', '09:30', 2);

    it('excludes the offers of every place, those that only their buffers reach among them', () => {
      const later = published('later', '09:40', '10:00');
      expect(planned([one, two, later])).toEqual([undefined, ['one', 'two']]);
      expect(planned([one, two, later], {}, terms({ before: 15 }))).toEqual([undefined, ['one', 'two', 'later']]);
    });

    it('from an offer excludes those of its place, and not itself', () => {
      const beside = published('beside', '09:15', '09:45');
      expect(planned([one, two, beside], { from: seen(one) })).toEqual([undefined, ['beside']]);
    });

    it.each<[string, Slot['status'], Partial<Slot>, ExternalSlot['against'], string | undefined]>([
      ['an appointment over a booking', 'busy', origin('x'), 'everything', 'x'],
      ['a block over a booking', 'busy', origin('x'), 'nothing', undefined],
      ['an appointment over a block', 'busy-unavailable', {}, 'everything', 'x'],
      ['what only appointments refuse, over a block', 'busy-unavailable', {}, 'appointments', undefined],
      ['what only appointments refuse, over a request', 'busy-tentative', origin('x'), 'appointments', 'x'],
    ])('%s', (_, status, marks, against, conflict) => {
      expect(planned([slot('x', '09:20', '10:00', { status, ...marks })], { against })[0]).toBe(conflict);
    });
  });
});

describe('settle', () => {
  const external = (start: string, end: string) => seen(slot('taking', start, end, { status: 'busy' }));

  /** What is stored once a time of a Slot was booked. */
  function booked(slots: readonly Slot[], id: string, start: string, end: string, own = terms()): Slot[] {
    const before = calendarOf(slots, config);
    return stored(before, withTaken(before, [id], between(start, end), 'busy'), own);
  }

  /** What is stored once Slots were given back. */
  function givenBack(slots: readonly Slot[], id: string, own = terms()): Slot[] {
    const before = calendarOf(slots, config);
    return stored(before, withGivenBack(before, [id], config), own);
  }

  describe('an offer of which time is taken', () => {
    const long = slot('long', '09:00', '11:00');

    it('offers what is left on both sides, and is whole again when it is given back', () => {
      const after = booked([long], 'long', '09:30', '10:00');
      expect(freeIn(after)).toEqual(['09:00-09:30', '10:00-11:00']);
      expect(freeIn(givenBack(after, 'long'))).toEqual(['09:00-11:00']);
    });

    it('leaves its buffers out on both sides', () => {
      const own = terms({ before: 10, after: 20 });
      const before = calendarOf([long], config);
      const after = stored(before, changed(before, external('09:50', '10:10')), own);
      expect(freeIn(after)).toEqual(['09:00-09:30', '10:20-11:00']);
    });
  });

  describe('places', () => {
    it.each<[string, Slot[]]>([
      ['published', [published('one', '09:00', '09:30'), published('two', '09:00', '09:30', 2)]],
      ['made by hand', [inPlace('hand-1', 'one', '09:00', '09:30'), inPlace('hand-2', 'two', '09:00', '09:30')]],
      ['made by hand, without a mark yet', [slot('one', '09:00', '09:30'), slot('two', '09:00', '09:30')]],
    ])('beside each other, %s: a booking takes its own, a taking takes both', (_, slots) => {
      expect(freeIn(booked(slots, 'one', '09:00', '09:30'))).toEqual(['09:00-09:30']);
      const before = calendarOf(slots, config);
      expect(freeIn(stored(before, changed(before, external('09:00', '09:10'))))).toEqual([
        '09:10-09:30',
        '09:10-09:30',
      ]);
    });

    it('overlapping offers of one place are narrowed with each other', () => {
      const slots = [published('one', '09:00', '09:30'), published('two', '09:15', '09:45')];
      expect(freeIn(booked(slots, 'one', '09:00', '09:30'))).toEqual(['09:30-09:45']);
      expect(freeIn(booked(slots, 'one', '09:00', '09:30', terms({ shortest: 30 })))).toEqual([]);
    });
  });

  describe('an offer that a change excludes and leaves as it is', () => {
    it('gets a new revision, so that a simultaneous change of it fails', () => {
      const own = terms({ shortest: 30 });
      const slots = [published('one', '09:00', '09:30'), published('two', '09:15', '09:45')];
      const once = calendarOf(booked(slots, 'one', '09:00', '09:30', own), config);
      const [before, after] = [once, changed(once, external('09:40', '09:45'))];
      const two = settle(before, after, { termsOf: () => own, newId: () => 'urn:uuid:x' }).get('two');
      expect([two?.status, two?.revision]).toEqual(['entered-in-error', 1]);
    });
  });

  it('whatever is taken and given back, no minute of a place is lost or offered twice', () => {
    const step = fc.record({ start: fc.nat(23), length: fc.integer({ min: 2, max: 8 }), isBooking: fc.boolean() });
    const clock = (minutes: number): string =>
      at('09:00').replace('09:00', new Date(minutes * 60_000 + 9 * 3_600_000).toISOString().slice(11, 16));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let slots: Slot[] = [slot('long', '09:00', '11:00')];
        const minutesOf = (status: (one: Slot) => boolean): number =>
          slots.filter(status).reduce((sum, { start, end }) => sum + Date.parse(end) - Date.parse(start), 0) / 60_000;
        for (const { start, length, isBooking } of steps) {
          const before: Calendar = calendarOf(slots, config);
          const time = { start: Date.parse(clock(start * 5)), end: Date.parse(clock((start + length) * 5)) };
          const found = [...before.values()].find(
            (one) => (one.status === 'free' && one.start <= time.start && time.end <= one.end) === isBooking,
          );
          if (found && (isBooking || isTaken(found))) {
            const after = isBooking
              ? withTaken(before, [found.id], time, 'busy')
              : withGivenBack(before, [found.id], config);
            slots = stored(before, after, terms({ shortest: 5 })).map((one, index) => ({
              ...one,
              id: one.id?.startsWith('made') ? `part-${slots.length}-${index}` : (one.id ?? ''),
            }));
          }
          expect(minutesOf(({ status }) => status === 'free') + minutesOf(isTaken)).toBe(120);
        }
        for (const { id } of slots.filter(isTaken)) {
          slots = givenBack(slots, id ?? '', terms({ shortest: 5 }));
        }
        expect(freeIn(slots)).toEqual(['09:00-11:00']);
      }),
    );
  });
});
