import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  appointment,
  at,
  config,
  ct,
  issuesOf,
  now,
  parameters,
  patient,
  plan,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  written,
} from '../support.ts';

const nine = slot('nine', '09:00', '09:30');
const named = (...ids: string[]) => ({ slot: ids.map((id) => ({ reference: `Slot/${id}` })) });

describe('slots at the border of a booking', () => {
  it('one that only touches its time is no part of it', () => {
    for (const other of [slot('other', '09:30', '10:00'), slot('other', '08:30', '09:00')]) {
      const state = stateOf(schedule, patient, nine, other);
      expect(issuesOf(plan(appointment(named('nine', 'other')), state))).toEqual(['slot-mismatch Appointment.slot[1]']);
    }
  });

  it('one of another schedule than the parameter schedule names does not fit', () => {
    const other = { ...schedule, id: 'other' };
    const body = parameters(resourceParameter('appt-resource', appointment()), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/other' },
    });
    expect(issuesOf(plan(body, stateOf(schedule, other, patient, nine)))).toEqual([
      'slot-mismatch Parameters.parameter[0].resource.slot[0]',
    ]);
  });

  it('the rest of one that is split keeps all that belongs to the offer', () => {
    const offer = { appointmentType: ct, serviceType: [ct], serviceCategory: [ct], specialty: [ct] };
    const state = stateOf(schedule, patient, slot('nine', '08:00', '10:00', offer));
    const slots = written(plan(appointment({ end: at('09:30') }), state), 'Slot');
    expect(slots).toHaveLength(3);
    for (const one of slots) {
      expect(one).toMatchObject(offer);
    }
  });
});

it('a slot that has lost part of its time to another booking since it was seen is not free', () => {
  const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }];
  const narrowed = slot('nine', '09:00', '09:20', { identifier });
  const rest = slot('rest', '09:20', '09:30', { identifier, status: 'busy' });
  const state = stateOf(schedule, patient, narrowed);
  const pieces = (...slots: Slot[]) => ({ slots, uses: new Map() });
  expect(issuesOf(plan(appointment(), state, {}, pieces(narrowed, rest)))).toEqual([
    'slot-not-free Appointment.slot[0]',
  ]);
  expect(issuesOf(plan(appointment(), state, {}, pieces(narrowed)))).toEqual(['slot-mismatch Appointment.slot']);
});

describe('a slot whose time is withheld at this moment', () => {
  const mark = (until: string) => ({
    url: artefactUri(config, 'LocalWithheld'),
    extension: [
      { url: 'time', valuePeriod: { start: at('09:30'), end: at('10:00') } },
      { url: 'until', valueInstant: until },
    ],
  });
  const booking = (until: string) => {
    const half = slot('half', '09:30', '10:00', { extension: [mark(until)] });
    return plan(appointment({ end: at('10:00'), ...named('nine', 'half') }), stateOf(schedule, patient, nine, half));
  };

  it('is not free, and is the one that is reported', () => {
    expect(issuesOf(booking(at('08:00')))).toEqual(['slot-not-free Appointment.slot[1]']);
  });

  it('is free again afterwards', () => {
    expect(booking(new Date(now).toISOString()).kind).toBe('write');
  });
});

describe('the priority', () => {
  const url = artefactUri(config, 'LocalTerminPriorityExtension');
  const extension = (coding: object) => ({ url, valueCodeableConcept: { coding: [coding] } });
  const coded = extension({ system: config.terminologySystem, code: '25876001' });
  const issuesWith = (...extensions: object[]): string[] =>
    issuesOf(plan({ ...appointment(), priority: 1, _priority: { extension: extensions } }));

  it('carries exactly one extension, coded', () => {
    expect(issuesWith(coded)).toEqual([]);
    expect(issuesWith(coded, coded)).toEqual(['profile-violation Appointment.priority.extension']);
    expect(issuesWith({ url: 'urn:x' })).toEqual(['profile-violation Appointment.priority.extension']);
    expect(issuesWith(extension({ code: 'x' }))).toEqual([
      'profile-violation Appointment.priority.extension[0].value.coding[0]',
    ]);
  });
});

it('one schedule that is confirmed by hand is enough for a booking to wait', () => {
  const byHand = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
  const room = { ...schedule, id: 'room', extension: byHand };
  const inRoom = slot('room-nine', '09:00', '09:30', { schedule: { reference: 'Schedule/room' } });
  const result = plan(appointment(named('nine', 'room-nine')), stateOf(schedule, room, patient, nine, inRoom));
  expect(written(result, 'Appointment').map(({ status }) => status)).toEqual(['pending']);
});
