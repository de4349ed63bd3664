import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { aroundReads, mustBeWhole, unmarkedIn } from '../../../../core/booking/slots/takings.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { parseInstant } from '../../../../core/fhir/instant.ts';
import { appointment, at, config, ct, issuesOf, patient, plan, schedule, slot, stateOf } from '../support.ts';

const origin = artefactUri(config, 'LocalSlotOrigin');
const marked = (value: string): Partial<Slot> => ({ identifier: [{ system: origin, value }] });
const nine = slot('nine', '09:00', '09:30');

const planBeside = (other: Slot, offered: readonly string[] = []) =>
  plan(appointment(), stateOf(schedule, patient, nine, other), { offered: new Set(offered) });

describe('time that is taken beside a free slot', () => {
  it.each<[string, Slot]>([
    ['an appointment', slot('x', '09:00', '09:30', { status: 'busy' })],
    ['a request, at the end', slot('x', '09:29', '10:00', { status: 'busy-tentative' })],
    ['a block, around it', slot('x', '00:00', '23:00', { status: 'busy-unavailable' })],
    ['a block for this service', slot('x', '09:00', '09:30', { status: 'busy-unavailable', serviceType: [ct] })],
  ])('%s: slot-not-free', (_, other) => {
    expect(issuesOf(planBeside(other))).toEqual(['slot-not-free Appointment.slot[0]']);
  });

  it.each<[string, Slot, string[]]>([
    ['touches it', slot('x', '09:30', '10:00', { status: 'busy' }), []],
    ['was once on offer, as its history shows', slot('x', '09:00', '09:30', { status: 'busy' }), ['x']],
    ['was once on offer, as its mark shows', slot('x', '09:00', '09:30', { status: 'busy', ...marked('x') }), []],
    ['is free itself', slot('x', '09:00', '09:30'), []],
    [
      'is a block for another service',
      slot('x', '09:00', '09:30', { status: 'busy-unavailable', serviceType: [{ coding: [{ code: 'mri' }] }] }),
      [],
    ],
    [
      'belongs to another schedule',
      slot('x', '09:00', '09:30', { status: 'busy', schedule: { reference: 'Schedule/other' } }),
      [],
    ],
  ])('that %s: nothing in the way', (_, other, offered) => {
    expect(planBeside(other, offered).kind).toBe('write');
  });

  it('is reported once for a slot that is not free itself either', () => {
    const taken = slot('nine', '09:00', '09:30', { status: 'busy' });
    const other = slot('x', '09:00', '09:30', { status: 'busy' });
    expect(issuesOf(plan(appointment(), stateOf(schedule, patient, taken, other)))).toEqual([
      'slot-not-free Appointment.slot[0]',
    ]);
  });

  it('says that time is taken of a slot that was narrowed because of it', () => {
    const state = stateOf(
      schedule,
      patient,
      slot('nine', '09:00', '09:20'),
      slot('x', '09:20', '10:00', { status: 'busy' }),
    );
    expect(issuesOf(plan(appointment(), state))).toEqual(['slot-not-free Appointment.slot[0]']);
  });
});

it('the history is read only of taken slots without a mark at that time', () => {
  const slots = [
    nine,
    slot('marked', '09:00', '09:30', { status: 'busy', ...marked('marked') }),
    slot('unmarked', '09:00', '09:30', { status: 'busy' }),
    slot('later', '09:30', '10:00', { status: 'busy' }),
  ];
  const interval = { start: parseInstant(at('09:00')) ?? 0, end: parseInstant(at('09:30')) ?? 0 };
  expect(unmarkedIn(stateOf(...slots), interval, config)).toEqual(['unmarked']);
});

it('of very many the earliest are looked at, and the others count as never offered', () => {
  const minute = (count: number): string => new Date(Date.parse(at('09:00')) + count * 60_000).toISOString();
  const slots = Array.from({ length: 1_000 }, (_, index) => ({
    ...slot(`x${index}`, '09:00', '09:30', { status: 'busy' }),
    start: minute(999 - index),
    end: minute(1_000 - index),
  }));
  const interval = { start: Date.parse(minute(0)), end: Date.parse(minute(1_000)) };
  const found = unmarkedIn(stateOf(schedule, ...slots), interval, config);
  expect([found.length, found[0], found.at(-1)]).toEqual([200, 'x999', 'x800']);
});

it('of several schedules is read what may be in the way at that time', () => {
  const interval = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };
  const asked = aroundReads(['a', 'b'], interval, config).map(({ request }) => {
    const [path, query] = request?.url?.split('?') ?? [];
    return [path, Object.fromEntries(new URLSearchParams(query))];
  });
  const published = artefactUri(config, 'LocalPublishedSlot');
  const common = {
    status: 'free,busy,busy-tentative,busy-unavailable',
    _filter: `status ne "free" or identifier eq "${published}|"`,
    start: `lt${at('09:30')}`,
    end: `gt${at('09:00')}`,
    _count: expect.stringMatching(/^\d+$/),
  };
  expect(asked).toEqual([
    ['Slot', { ...common, schedule: 'Schedule/a' }],
    ['Slot', { ...common, schedule: 'Schedule/b' }],
  ]);
});

it.each([
  ['for the slots at a time', 'Slot?status=busy&start=lt2027&end=gt2027&_count=1000', true],
  ['for the first slots at a time', 'Slot?start=lt2027&end=gt2027&_sort=start&_count=500', false],
  ['for slots by id', 'Slot?_id=nine&_count=20', false],
  ['for other resources', 'Appointment?end=gt2027', false],
])('a search %s, %s, must be answered as a whole: %s', (_, url, expected) => {
  expect(mustBeWhole({ request: { method: 'GET', url } })).toBe(expected);
});
