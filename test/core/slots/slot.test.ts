import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { withTaken } from '../../../core/slots/settle.ts';
import { calendarOf, withMarks } from '../../../core/slots/slot.ts';
import { config, ct, slot } from '../booking/support.ts';
import { between, inPlace, offered, origin, published, seen, stored } from './support.ts';

const nine = (more: Partial<Slot> = {}): Slot => slot('nine', '09:00', '09:30', more);
const buffer = { identifier: [{ system: artefactUri(config, 'LocalBuffer'), value: 'x' }] };

describe('what a Slot is', () => {
  it.each<[string, Slot, string]>([
    ['free', nine(), 'bookable'],
    ['taken, never on offer', nine({ status: 'busy' }), 'external'],
    ['blocked, never on offer', nine({ status: 'busy-unavailable' }), 'external'],
    ['taken, with its origin', nine({ status: 'busy', ...origin('nine') }), 'bookable'],
    ['taken, published', published('nine', '09:00', '09:30', 1, { status: 'busy' }), 'bookable'],
    ['withdrawn', nine({ status: 'entered-in-error', extension: [offered('1', '09:00', '09:30')] }), 'bookable'],
    ['entered in error', nine({ status: 'entered-in-error' }), 'ended'],
    ['a buffer', nine({ status: 'busy-unavailable', ...buffer }), 'buffer'],
    ['a buffer that is over', nine({ status: 'entered-in-error', ...buffer }), 'ended'],
  ])('%s: %s', (_, one, role) => {
    expect(seen(one).role).toBe(role);
  });

  it('has the whole time of its mark, unless staff have moved it out of it', () => {
    const whole = (start: string, end: string) => seen(nine({ extension: [offered('1', start, end)] })).whole;
    expect(whole('08:00', '10:00')).toEqual(between('08:00', '10:00'));
    expect(whole('08:00', '09:00')).toEqual(between('09:00', '09:30'));
  });
});

it('an offer that is taken keeps its services in its mark, and has them again when it is free', () => {
  const before = calendarOf([nine({ serviceType: [ct] })], config);
  const [taken] = stored(before, withTaken(before, ['nine'], between('09:00', '09:30'), 'busy'));
  expect(taken).toMatchObject({ status: 'busy', ...origin('nine') });
  expect(taken).not.toHaveProperty('serviceType');
  expect(taken && seen(taken)).toMatchObject({ role: 'bookable', services: [ct] });
});

describe('a Slot that somebody else writes', () => {
  it('keeps the marks of the stored one, whatever it brings', () => {
    const before = { ...inPlace('hand-1', 'nine', '09:00', '09:30', origin('nine')), status: 'busy' } as const;
    const sent = nine({ status: 'busy', comment: 'new', extension: [offered('9')], ...origin('other') });
    expect(withMarks(sent, before, config)).toEqual({ ...before, status: 'busy', comment: 'new' });
  });

  it('is marked as an offer when it is taken, and otherwise stays as it was sent', () => {
    const taken = withMarks(nine({ status: 'busy' }), nine(), config);
    expect(taken).toMatchObject(origin('nine'));
    expect(seen(taken).isByHand).toBe(true);
    expect(seen(withMarks(nine(), taken, config)).isByHand).toBe(false);
    const sent = nine({ comment: 'new' });
    expect(withMarks(sent, nine(), config)).toBe(sent);
    const external = nine({ status: 'busy' });
    expect(withMarks(external, external, config)).toBe(external);
  });
});
