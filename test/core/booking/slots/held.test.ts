import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { heldSlotIssues } from '../../../../core/booking/slots/held.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { told } from '../../../lib/told.ts';
import { appointment, at, config, now, slot } from '../support.ts';

const booked = appointment({ id: 'a', status: 'booked' });
const stored = slot('nine', '09:00', '09:30', { status: 'busy' });
const issuesOf = (changed: Partial<Slot>, before: Slot | undefined, ...holders: readonly Appointment[]): string[] =>
  told(heldSlotIssues({ ...stored, ...changed }, before, holders, now, config));

const freed = 'transition-not-allowed Slot.status';
const moved = 'immutable-element Slot';

describe('a slot that an appointment holds', () => {
  it.each<[string, Partial<Slot>, string[]]>([
    ['may be written as it is', {}, []],
    ['may be written with its time in another spelling', { start: '2027-01-04T10:00:00+01:00' }, []],
    ['may be blocked', { status: 'busy-unavailable' }, []],
    ['may not become free', { status: 'free' }, [freed]],
    ['may not begin at another time', { start: at('08:45') }, [moved]],
    ['may not end at another time', { end: at('09:45') }, [moved]],
    ['may not go to another schedule', { schedule: { reference: 'Schedule/other' } }, [moved]],
    ['may neither become free nor be moved', { status: 'free', end: at('09:45') }, [freed, moved]],
  ])('%s', (_, changed, expected) => {
    expect(issuesOf(changed, stored, booked)).toEqual(expected);
  });
});

it.each<[string, Slot | undefined, Appointment[]]>([
  ['no appointment holds', stored, []],
  ['only a cancelled appointment names', stored, [appointment({ id: 'a', status: 'cancelled' })]],
  ['is not stored yet', undefined, [booked]],
])('a slot that %s may be given any status, time and schedule', (_, before, holders) => {
  const changed: Partial<Slot> = { status: 'free', end: at('10:00'), schedule: { reference: 'Schedule/other' } };
  expect(issuesOf(changed, before, ...holders)).toEqual([]);
});

describe('a slot that a request holds', () => {
  const requested = slot('nine', '09:00', '09:30', {
    status: 'busy-tentative',
    identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }],
  });
  const pending = appointment({ id: 'a', status: 'pending' });

  it('may be confirmed with it by who has read it, not be taken from a page of before', () => {
    expect(issuesOf({ ...requested, status: 'busy' }, requested, pending)).toEqual([]);
    expect(issuesOf({ status: 'busy' }, requested, pending)).toEqual(['slot-not-free Slot.status']);
    expect(issuesOf({ status: 'busy-unavailable' }, requested, pending)).toEqual([]);
  });
});
