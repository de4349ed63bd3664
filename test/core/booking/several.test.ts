import { describe, expect, test } from '@jest/globals';
import type { Appointment, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import {
  appointment,
  at,
  issuesOf,
  parameters,
  patient,
  plan,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  written,
} from './support.ts';

const duration = (value: number, code: string) => ({ value, code, system: 'http://unitsofmeasure.org' });

const room: Schedule = { ...schedule, id: 'room' };
const inRoom = { schedule: { reference: 'Schedule/room' } };
const step = (id: string, start: string, end: string, more: Partial<Appointment> = {}): Appointment =>
  appointment({ start: at(start), end: at(end), slot: [{ reference: `Slot/${id}` }], ...more });
const several = (...steps: Appointment[]) => parameters(...steps.map((one) => resourceParameter('appt-resource', one)));
const world = (...more: Resource[]) =>
  stateOf(schedule, room, patient, slot('nine', '09:00', '09:30'), slot('ten', '10:00', '10:30', inRoom), ...more);

const nine = step('nine', '09:00', '09:30');
describe('buffers between appointments of one request in one schedule', () => {
  const withBuffers: HealthcareService = {
    resourceType: 'HealthcareService',
    id: 'ct',
    type: [{ coding: [{ system: 'urn:services', code: 'ct' }] }],
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          { url: 'duration', valueDuration: duration(30, 'min') },
          { url: 'bufferBefore', valueDuration: duration(10, 'min') },
          { url: 'bufferAfter', valueDuration: duration(10, 'min') },
        ],
      },
    ],
  };
  const next = (start: string, end: string) =>
    plan(several(nine, step('next', start, end)), world(slot('next', start, end), withBuffers));

  test('count once', () => {
    expect(issuesOf(next('09:40', '10:10'))).toEqual([]);
    expect(written(next('09:40', '10:10'), 'Slot').filter(({ comment }) => comment)).toHaveLength(4);
  });

  test('count', () => {
    expect(issuesOf(next('09:35', '10:05'))).toEqual(['slot-not-free Parameters.parameter[1].resource.slot[0]']);
  });
});
