import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Slot } from '@medplum/fhirtypes';
import { bufferEntries, bufferRemovals, neededBuffers, withBuffers } from '../../../../core/booking/slots/buffers.ts';
import { calendarOf } from '../../../../core/booking/slots/calendar.ts';
import { changeService } from '../../../../core/calendar/change/opening-hours.ts';
import { formatKey } from '../../../../core/calendar/slots/published-slot.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { at, config, ct, schedule, slot } from '../support.ts';

const minute = 60_000;
const origin = artefactUri(config, 'LocalSlotOrigin');
const mri = { coding: [{ system: 'urn:services', code: 'mri' }] };

function aService(id: string, before: number, after: number, type = ct): HealthcareService & { id: string } {
  const bare: HealthcareService = { resourceType: 'HealthcareService', type: [type] };
  return { ...changeService(bare, { duration: 30, bufferBefore: before, bufferAfter: after }), id };
}

function inCalendar(one: Slot) {
  const [found] = calendarOf([one], origin).values();
  if (!found) {
    throw new Error('The slot has no time.');
  }
  return found;
}

const nine = inCalendar(slot('nine', '09:00', '09:30'));
const buffersFor = (types: readonly (typeof ct)[], services: readonly HealthcareService[], one = nine) => {
  const found = neededBuffers({ ...schedule, serviceType: [ct, mri] }, one, types, services, config);
  return found && [found.service.id, found.before / minute, found.after / minute];
};

describe('the buffers of an appointment', () => {
  it('are those of the service that it is for', () => {
    const services = [aService('ct', 5, 10), aService('mri', 20, 30, mri)];
    expect(buffersFor([ct], services)).toEqual(['ct', 5, 10]);
    expect(buffersFor([mri], services)).toEqual(['mri', 20, 30]);
  });

  it('of several services are the longest', () => {
    const services = [aService('a', 5, 10), aService('b', 20, 0), aService('c', 0, 15)];
    expect(buffersFor([ct], services)).toEqual(['b', 20, 0]);
    expect(buffersFor([ct], services.toReversed())).toEqual(['b', 20, 0]);
  });

  it('are those of the type of the slot where the appointment has none', () => {
    const services = [aService('ct', 5, 10), aService('mri', 20, 30, mri)];
    expect(buffersFor([], services, inCalendar(slot('x', '09:00', '09:30', { serviceType: [mri] })))).toEqual([
      'mri',
      20,
      30,
    ]);
    expect(buffersFor([], services)).toBeUndefined();
  });

  it('are those of the only service, whatever the appointment is called', () => {
    expect(buffersFor([mri], [aService('ct', 5, 10)])).toEqual(['ct', 5, 10]);
    expect(buffersFor([mri], [aService('ct', 5, 10), aService('other', 1, 1)])).toBeUndefined();
  });

  it('of a published slot are those of the service for which it was published', () => {
    const start = Date.parse(at('09:00'));
    const value = formatKey({ kind: 'offer', schedule: 'calendar', service: 'mri', start, place: 1 });
    const identifier = [{ system: artefactUri(config, 'LocalPublishedSlot'), value }];
    const services = [aService('ct', 5, 10), aService('mri', 20, 30, mri)];
    expect(buffersFor([ct], services, inCalendar(slot('x', '09:00', '09:30', { identifier })))).toEqual([
      'mri',
      20,
      30,
    ]);
  });

  it('are none where none are asked for, or nothing is known of the service', () => {
    expect(buffersFor([ct], [aService('ct', 0, 0)])).toBeUndefined();
    expect(buffersFor([ct], [])).toBeUndefined();
    const { id: _, ...unstored } = aService('ct', 5, 10);
    expect(buffersFor([ct], [unstored])).toBeUndefined();
  });

  it('lie around its time', () => {
    const buffers = { before: 5 * minute, after: 10 * minute, service: aService('ct', 5, 10) };
    expect(withBuffers({ start: 20 * minute, end: 30 * minute }, buffers)).toEqual({
      start: 15 * minute,
      end: 40 * minute,
    });
    expect(withBuffers({ start: 1, end: 2 }, undefined)).toEqual({ start: 1, end: 2 });
  });
});

describe('what is written of them', () => {
  const interval = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };
  const entriesFor = (before: number, after: number) =>
    bufferEntries(
      interval,
      { ...nine, origin: 'day' },
      { before: before * minute, after: after * minute, service: aService('ct', before, after) },
      config,
    );

  it('is one slot on each side, which names the booked one and its origin', () => {
    const common = {
      resourceType: 'Slot',
      identifier: [
        { system: artefactUri(config, 'LocalBuffer'), value: 'nine' },
        { system: origin, value: 'day' },
      ],
      schedule: { reference: 'Schedule/calendar' },
      serviceType: [expect.objectContaining(ct)],
      status: 'busy-unavailable',
    };
    expect(entriesFor(5, 10)).toEqual([
      {
        request: { method: 'POST', url: 'Slot' },
        resource: { ...common, start: at('08:55'), end: at('09:00'), comment: 'buffer before appointment' },
      },
      {
        request: { method: 'POST', url: 'Slot' },
        resource: { ...common, start: at('09:30'), end: at('09:40'), comment: 'buffer after appointment' },
      },
    ]);
  });

  it('is nothing on a side that needs none', () => {
    const sides = (before: number, after: number) =>
      entriesFor(before, after).map(({ resource }) => resource?.resourceType === 'Slot' && resource.comment);
    expect(sides(5, 0)).toEqual(['buffer before appointment']);
    expect(sides(0, 5)).toEqual(['buffer after appointment']);
    expect(sides(0, 0)).toEqual([]);
  });

  it('is deleted with the slots that are given back, each once, and nothing else', () => {
    const bufferOf = (value: string) => ({ identifier: [{ system: artefactUri(config, 'LocalBuffer'), value }] });
    const { id: _, ...unstored } = slot('x', '08:55', '09:00', bufferOf('nine'));
    const slots = [
      slot('before', '08:55', '09:00', bufferOf('nine')),
      slot('before', '08:55', '09:00', bufferOf('nine')),
      slot('other', '08:55', '09:00', bufferOf('ten')),
      slot('nine', '09:00', '09:30'),
      unstored,
    ];
    expect(bufferRemovals(slots, ['nine', ''], config)).toEqual([
      { request: { method: 'DELETE', url: 'Slot/before' } },
    ]);
    expect(bufferRemovals(slots, [], config)).toEqual([]);
  });
});
