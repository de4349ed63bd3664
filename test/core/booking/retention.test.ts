import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import {
  emptiedSlotsQuery,
  endedJobsQuery,
  idleQuotasQuery,
  isAbsorbed,
  isLeftPublished,
  pastSlotsQuery,
} from '../../../core/booking/retention.ts';
import { formatKey } from '../../../core/calendar/slots/published-slot.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { at, config, slot } from './support.ts';

const cutoff = Date.parse(at('12:00'));
const nobody = new Set<string>();
const fragment = (more: Partial<Slot> = {}): Slot =>
  slot('x', '09:00', '11:59', {
    status: 'entered-in-error',
    identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'day' }],
    ...more,
  });

describe('what is searched', () => {
  const task = artefactUri(config, 'LocalTask');

  it('are Tasks of bookings, requests and double bookings that are over, and have been for long', () => {
    expect(endedJobsQuery(cutoff, config)).toEqual({
      code: `${task}|book,${task}|confirm,${task}|collision`,
      status: 'completed,failed,cancelled,rejected',
      _lastUpdated: `lt${at('12:00')}`,
    });
  });

  it('are the rows of quotas that have long not been used', () => {
    expect(idleQuotasQuery(cutoff, config)).toEqual({ code: `${task}|quota`, _lastUpdated: `lt${at('12:00')}` });
  });

  it('are slots that were emptied, or that are past', () => {
    expect(emptiedSlotsQuery(cutoff)).toEqual({ status: 'entered-in-error', _lastUpdated: `lt${at('12:00')}` });
    expect(pastSlotsQuery(cutoff)).toEqual({
      status: 'free,entered-in-error,busy-unavailable',
      _filter: `(end lt "${at('12:00')}")`,
      _lastUpdated: `lt${at('12:00')}`,
    });
  });
});

describe('a slot that was absorbed', () => {
  it('is left over when its time has passed and no appointment refers to it', () => {
    expect(isAbsorbed(fragment(), nobody, cutoff, config)).toBe(true);
    expect(isAbsorbed(fragment(), new Set(['Slot/y']), cutoff, config)).toBe(true);
  });

  it.each<[string, Partial<Slot>, readonly string[]]>([
    ['is not emptied', { status: 'free' }, []],
    ['is no fragment', { identifier: [{ system: 'urn:x', value: 'day' }] }, []],
    ['has no identifier', { identifier: undefined as unknown as [] }, []],
    ['ends only now', { end: at('12:00') }, []],
    ['has no readable end', { end: 'noon' }, []],
    ['belongs to an appointment', {}, ['Slot/x']],
  ])('stays if it %s', (_, more, referred) => {
    expect(isAbsorbed(fragment(more), new Set(referred), cutoff, config)).toBe(false);
  });
});

describe('a slot that was published', () => {
  const [start, end] = [Date.parse(at('09:00')), Date.parse(at('11:59'))];
  const identified = (value: string): Partial<Slot> => ({
    identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value }],
  });
  const offer = identified(formatKey({ kind: 'offer', schedule: 'calendar', service: 'ct', start, place: 1 }));
  const closed = identified(formatKey({ kind: 'closed', schedule: 'calendar', start, end }));
  const isLeft = (more: Partial<Slot>, referred = nobody) =>
    isLeftPublished(slot('x', '09:00', '11:59', more), referred, cutoff, config);

  it('is left over when its time has passed and nobody has taken it', () => {
    expect(isLeft({ ...offer, status: 'free' })).toBe(true);
    expect(isLeft({ ...offer, status: 'entered-in-error' })).toBe(true);
    expect(isLeft({ ...closed, status: 'busy-unavailable' })).toBe(true);
  });

  it.each<[string, Partial<Slot>]>([
    ['was made by hand', { status: 'free' }],
    ['was taken', { ...offer, status: 'busy' }],
    ['was blocked by staff', { ...offer, status: 'busy-unavailable' }],
    ['ends only now', { ...offer, end: at('12:00') }],
    ['has no readable end', { ...offer, end: 'noon' }],
  ])('stays if it %s', (_, more) => {
    expect(isLeft(more)).toBe(false);
  });

  it('stays if it belongs to an appointment', () => {
    expect(isLeft(offer, new Set(['Slot/x']))).toBe(false);
  });
});
