import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { LONGEST_REQUEST, planTaking } from '../../../core/calendar/slots/withhold.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { told } from '../../lib/told.ts';

const config = resolveConfig({ baseUrl: 'http://localhost/fhir/R4' });
const now = Date.parse('2031-01-06T07:00:00Z');
const at = (time: string): string => `2031-01-06T${time}:00.000Z`;

const slot = (id: string, status: Slot['status'], from: string, to: string, more: Partial<Slot> = {}): Slot => ({
  resourceType: 'Slot',
  id,
  meta: { versionId: '1', lastUpdated: at('06:00'), author: { reference: 'Practitioner/1' } },
  schedule: { reference: 'Schedule/1' },
  status,
  start: at(from),
  end: at(to),
  ...more,
});

/** A Slot that a Bot has booked so many milliseconds ago. */
const booked = (age: number): Slot =>
  slot('booked', 'busy', '09:00', '09:30', {
    meta: { author: { reference: 'Bot/1' }, lastUpdated: new Date(now - age).toISOString() },
    identifier: [{ system: `${config.profileBase}/NamingSystem/LocalSlotOrigin`, value: 'booked' }],
  });

const plan = (taking: Slot, slots: readonly Slot[], buffers = { before: 0, after: 0 }) => {
  const { issues, withheld } = planTaking(taking, slots, buffers, now, config);
  return { codes: told(issues).map((one) => one.split(' ')[0]), withheld: withheld.map(({ id }) => id) };
};

const taking = slot('new', 'busy', '09:00', '09:30');
const nothing = { codes: [], withheld: [] };

describe('a Slot that takes time', () => {
  it('withholds the free Slots that it overlaps, and no others', () => {
    const slots = [
      slot('before', 'free', '08:30', '09:00'),
      slot('same', 'free', '09:00', '09:30'),
      slot('longer', 'free', '08:00', '12:00'),
      slot('after', 'free', '09:30', '10:00'),
      slot('void', 'entered-in-error', '09:00', '09:30'),
    ];
    expect(plan(taking, slots)).toEqual({ codes: [], withheld: ['same', 'longer'] });
  });

  it('withholds those whose buffers it overlaps', () => {
    const slots = [slot('before', 'free', '08:30', '09:00'), slot('after', 'free', '09:30', '10:00')];
    expect(plan(taking, slots, { before: 0, after: 60_000 }).withheld).toEqual(['before']);
    expect(plan(taking, slots, { before: 60_000, after: 0 }).withheld).toEqual(['after']);
  });

  it('is refused on time that was booked a moment ago, and not on what its writer must have seen', () => {
    expect(plan(taking, [booked(LONGEST_REQUEST - 1)]).codes).toEqual(['schedule-overbooked']);
    expect(plan(taking, [booked(LONGEST_REQUEST)])).toEqual(nothing);
  });

  it.each<[string, Partial<Slot>]>([
    ['a block that a person sets', { status: 'busy-unavailable' }],
    [
      'an overbooking on purpose',
      { extension: [{ url: `${config.profileBase}/StructureDefinition/LocalOverbooking`, valueBoolean: true }] },
    ],
  ])('%s is not refused', (_, more) => {
    expect(plan({ ...taking, ...more }, [booked(0)])).toEqual(nothing);
  });

  it('refuses the buffer of an appointment like the appointment', () => {
    const buffer: Slot = { ...taking, status: 'busy-unavailable', comment: 'buffer after appointment' };
    expect(plan(buffer, [booked(0)]).codes).toEqual(['schedule-overbooked']);
  });

  it('that was on offer before takes its own place only', () => {
    const slots = [slot('new', 'free', '09:00', '09:30'), slot('beside', 'free', '09:00', '09:30'), booked(0)];
    expect(plan(taking, slots)).toEqual(nothing);
  });
});
