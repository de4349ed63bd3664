import { describe, expect, test } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { calendarData, entriesOf, unplacedOf } from '../day/entries.ts';

const schedule: Schedule = { resourceType: 'Schedule', id: 's', actor: [{ reference: 'Practitioner/p' }] };
const at = (hour: number): string => `2027-01-11T${String(hour).padStart(2, '0')}:00:00Z`;

const slot = (id: string, hour: number, status: Slot['status'], more: Partial<Slot> = {}): Slot => ({
  resourceType: 'Slot',
  id,
  schedule: { reference: 'Schedule/s' },
  status,
  start: at(hour),
  end: at(hour + 1),
  ...more,
});

const appointment = (id: string, status: Appointment['status'], slots: string[], more: object = {}): Appointment => ({
  resourceType: 'Appointment',
  id,
  status,
  start: at(9),
  end: at(10),
  slot: slots.map((one) => ({ reference: `Slot/${one}` })),
  participant: [{ actor: { reference: 'Patient/x' }, status: 'accepted' }],
  ...more,
});

const shown = (...resources: (Slot | Appointment)[]): string[] =>
  entriesOf(schedule, calendarData(resources)).map(({ key, kind }) => `${key} ${kind}`);

describe('in a calendar stand', () => {
  test.each([
    ['free', 'free'],
    ['busy-unavailable', 'blocked'],
    ['busy', 'taken'],
    ['busy-tentative', 'taken'],
  ] as const)('a slot that is %s as %s', (status, kind) => {
    expect(shown(slot('1', 9, status))).toEqual([`Slot/1 ${kind}`]);
  });

  test.each([
    ['proposed', 'held'],
    ['pending', 'requested'],
    ['booked', 'booked'],
    ['arrived', 'arrived'],
    ['fulfilled', 'done'],
    ['noshow', 'missed'],
  ] as const)('an appointment that is %s as %s, once, in place of its slots', (status, kind) => {
    const slots = [slot('1', 9, 'busy'), slot('2', 10, 'busy')];
    expect(shown(...slots, appointment('a', status, ['1', '2']))).toEqual([`Appointment/a ${kind}`]);
  });

  test('the slot of a cancelled appointment by itself', () => {
    expect(shown(slot('1', 9, 'free'), appointment('a', 'cancelled', ['1']))).toEqual(['Slot/1 free']);
  });

  test('two appointments on one slot, both', () => {
    const both = [appointment('a', 'booked', ['1']), appointment('b', 'booked', ['1'])];
    expect(shown(slot('1', 9, 'busy'), ...both)).toEqual(['Appointment/a booked', 'Appointment/b booked']);
  });

  test('an appointment without slots, if its practitioner is the actor', () => {
    const participant = [{ actor: { reference: 'Practitioner/p' }, status: 'accepted' }];
    expect(shown(appointment('a', 'booked', [], { participant }))).toEqual(['Appointment/a booked']);
  });

  test('a buffer as such, and no slot that is entered in error or another calendar has', () => {
    const buffer = slot('1', 9, 'busy-unavailable', { comment: 'buffer after appointment' });
    const others = [slot('2', 9, 'entered-in-error'), slot('3', 9, 'free', { schedule: { reference: 'Schedule/t' } })];
    expect(shown(buffer, ...others)).toEqual(['Slot/1 buffer']);
  });
});

describe('what is broken is shown apart', () => {
  const why = (...resources: unknown[]): string[] =>
    unplacedOf([schedule], calendarData(resources)).map(({ resource, why: reason }) => `${resource.id} ${reason}`);

  test.each<readonly [string, unknown, string]>([
    ['a slot without an end', { ...slot('1', 9, 'free'), end: undefined }, '1 no-time'],
    ['a slot that ends before it starts', slot('1', 9, 'free', { end: at(8) }), '1 no-time'],
    [
      'an appointment without participants and slots',
      { ...appointment('a', 'booked', []), participant: undefined },
      'a no-calendar',
    ],
    ['an appointment of nobody known', appointment('a', 'booked', []), 'a no-calendar'],
    ['an appointment of no known status', { ...appointment('a', 'booked', []), status: 'new' }, 'a unknown-status'],
  ])('%s', (_, resource, expected) => {
    expect(why(resource)).toEqual([expected]);
  });

  test('nothing of what is in order, cancelled, or in a calendar that is not shown', () => {
    const elsewhere = appointment('b', 'booked', ['other']);
    expect(why(slot('1', 9, 'free'), appointment('a', 'cancelled', []), elsewhere)).toEqual([]);
  });

  test.each([[null], [undefined], ['Slot'], [{ resourceType: 'Basic' }], [[]]])('%p is passed over', (resource) => {
    expect(calendarData([resource])).toMatchObject({ slots: [], appointments: [] });
  });

  test.each([[{ slot: null }], [{ participant: [null] }], [{ slot: [null, {}] }], [{ start: 5 }]])(
    'an appointment with %p stops nothing',
    (broken) => {
      const data = calendarData([slot('1', 9, 'busy'), { ...appointment('a', 'booked', ['1']), ...broken }]);
      expect(() => [entriesOf(schedule, data), unplacedOf([schedule], data)]).not.toThrow();
    },
  );
});
