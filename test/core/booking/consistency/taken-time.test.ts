import { describe, expect, it } from '@jest/globals';
import type { Appointment, Resource, Slot } from '@medplum/fhirtypes';
import { issuesOfTakenTime } from '../../../../core/booking/consistency/taken-time.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { told } from '../../../lib/told.ts';

const config = resolveConfig({ baseUrl: 'http://localhost/fhir/R4' });
const now = Date.parse('2031-01-06T07:00:00Z');
const originSystem = artefactUri(config, 'LocalSlotOrigin');
const at = (time: string): string => `2031-01-06T${time}:00.000Z`;

const slot = (id: string, status: Slot['status'], from: string, to: string, more: Partial<Slot> = {}): Slot => ({
  resourceType: 'Slot',
  id,
  schedule: { reference: 'Schedule/1' },
  status,
  start: at(from),
  end: at(to),
  ...more,
});

/** A Slot that was once on offer. */
const offer = (id: string, status: Slot['status'], from: string, to: string) =>
  slot(id, status, from, to, { identifier: [{ system: originSystem, value: id }] });

const bufferFor = (id: string, from: string, to: string) =>
  slot(`buffer-${id}`, 'busy-unavailable', from, to, {
    comment: 'buffer after appointment',
    identifier: [{ system: artefactUri(config, 'LocalBuffer'), value: id }],
  });

const booked = (id: string): Appointment => ({
  resourceType: 'Appointment',
  id: `of-${id}`,
  status: 'booked',
  slot: [{ reference: `Slot/${id}` }],
  participant: [{ status: 'accepted' }],
});

const stateOf = (resources: readonly Resource[]) =>
  new Map(resources.map((resource) => [`${resource.resourceType}/${resource.id}`, resource]));

const find = (...resources: readonly Resource[]) =>
  told(
    issuesOfTakenTime(stateOf(resources), { now, config }).map(({ rule, resource, diagnostics }) => ({
      code: rule,
      diagnostics,
      expression: resource,
    })),
  );

/** A Slot that was published for a place. */
const published = (id: string, status: Slot['status'], from: string, to: string, place = 1) =>
  slot(id, status, from, to, {
    identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value: `offer/1/service/${at(from)}/${place}` }],
  });

const taking = slot('taking', 'busy', '09:00', '09:30');

describe('the booked slots that were published for one place', () => {
  const first = published('a', 'busy', '09:00', '09:30');

  it.each<[string, Slot, string[]]>([
    ['overlap', published('b', 'busy-tentative', '09:15', '09:45'), ['time-taken-twice Slot/b']],
    ['touch', published('b', 'busy', '09:30', '10:00'), []],
    ['overlap on another place', published('b', 'busy', '09:15', '09:45', 2), []],
    ['and a free one', published('b', 'free', '09:15', '09:45'), []],
    ['overlap in the past', published('b', 'busy', '06:00', '06:30'), []],
  ])('%s', (_, other, expected) => {
    expect(find(first, other)).toEqual(expected);
  });

  it('overlap, both in the past: that can no longer be mended', () => {
    expect(find(published('a', 'busy', '06:00', '06:30'), published('b', 'busy', '06:15', '06:45'))).toEqual([]);
  });

  it('and one that staff have blocked', () => {
    expect(find(first, published('b', 'busy-unavailable', '09:15', '09:45'))).toEqual([]);
  });

  it('overlap though another lies between', () => {
    const long = published('long', 'busy', '08:00', '11:00');
    expect(find(long, first, published('b', 'busy', '10:00', '10:30'))).toEqual([
      'time-taken-twice Slot/a',
      'time-taken-twice Slot/b',
    ]);
  });

  it('overlap though one before them ended earlier', () => {
    const [early, long] = [published('early', 'busy', '08:00', '08:30'), published('long', 'busy', '08:30', '09:15')];
    expect(find(early, long, first)).toEqual(['time-taken-twice Slot/a']);
  });

  it('overlap on purpose', () => {
    const url = artefactUri(config, 'LocalOverbooking');
    const meant = { ...booked('b'), extension: [{ url, valueBoolean: true }] };
    expect(find(first, published('b', 'busy', '09:15', '09:45'), meant)).toEqual([]);
  });
});

describe('what takes the time of a Schedule', () => {
  it.each<[string, Slot, string[]]>([
    ['a booking', offer('b', 'busy', '09:00', '10:00'), ['time-taken-twice Slot/taking']],
    ['a request', offer('b', 'busy-tentative', '09:15', '10:00'), ['time-taken-twice Slot/taking']],
    ['an offer that staff blocked', offer('b', 'busy-unavailable', '09:00', '10:00'), ['booking-blocked Slot/taking']],
    ['a free slot', offer('b', 'free', '09:00', '10:00'), ['free-over-taken Slot/b']],
    ['what touches it', offer('b', 'busy', '09:30', '10:00'), []],
    ['what is void', offer('b', 'entered-in-error', '09:00', '10:00'), []],
    [
      'the same time of another Schedule',
      { ...offer('b', 'busy', '09:00', '10:00'), schedule: { reference: 'Schedule/2' } },
      [],
    ],
  ])('compared with %s', (_, other, expected) => {
    expect(find(taking, other)).toEqual(expected);
  });

  it('two appointments by Medplum are found once', () => {
    expect(find(taking, slot('other', 'busy', '09:15', '09:45'))).toEqual(['time-taken-twice Slot/other']);
  });

  it('a buffer is not found on the appointment beside it, but on one that it overlaps', () => {
    const [first, buffer] = [offer('b', 'busy', '08:30', '09:00'), bufferFor('b', '09:00', '09:10')];
    expect(find(first, booked('b'), buffer)).toEqual([]);
    expect(find(first, booked('b'), buffer, taking)).toEqual(['time-taken-twice Slot/taking']);
  });

  it('two parallel offers that are booked are two places', () => {
    expect(find(offer('a', 'busy', '09:00', '09:30'), offer('b', 'busy', '09:00', '09:30'))).toEqual([]);
  });

  it('an overbooking on purpose is none of it, nor is what has passed', () => {
    const url = artefactUri(config, 'LocalOverbooking');
    const meant = { ...booked('b'), extension: [{ url, valueBoolean: true }] };
    expect(find(taking, offer('b', 'busy', '09:00', '10:00'), meant)).toEqual([]);
    expect(find(slot('past', 'busy', '06:00', '06:30'), offer('b', 'busy', '06:00', '06:30'))).toEqual([]);
  });

  it('a buffer without its booking is left over', () => {
    expect(find(bufferFor('b', '09:00', '09:10'))).toEqual(['buffer-left-over Slot/buffer-b']);
  });
});
