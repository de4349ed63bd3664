import { describe, expect, test } from '@jest/globals';
import type { Appointment, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import {
  appointment,
  at,
  config,
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
const ten = step('ten', '10:00', '10:30');

test('a person cannot be at two places at once', () => {
  const sameTime = slot('ten', '09:00', '09:30', inRoom);
  expect(issuesOf(plan(several(nine, step('ten', '09:00', '09:30')), world(sameTime)))).toEqual([
    'period-invalid Parameters.parameter[1].resource.start',
  ]);
});

test('a new patient is created once for all', () => {
  const { participant: _, ...unnamed } = nine;
  const sent = { resourceType: 'Patient', name: [{ family: 'New' }] };
  const body = parameters(
    ...[unnamed, { ...ten, participant: undefined }].map((one) => resourceParameter('appt-resource', one)),
    resourceParameter('patient', sent),
  );
  const result = plan(body, world());
  const actors = written(result, 'Appointment').map(({ participant }) => participant[0]?.actor?.reference);
  expect(written(result, 'Patient')).toHaveLength(1);
  expect(actors[0]).toMatch(/^urn:uuid:/);
  expect(actors[0]).toBe(actors[1]);
});

test('two appointments of one request share a long slot', () => {
  const long = slot('nine', '09:00', '11:00');
  const result = plan(several(nine, step('nine', '09:30', '10:00')), world(long));
  expect(issuesOf(result)).toEqual([]);
  const times = written(result, 'Slot').map(({ status, start, end }) => `${status} ${start} ${end}`);
  expect(times.toSorted()).toEqual([
    `busy ${at('09:00')} ${at('09:30')}`,
    `busy ${at('09:30')} ${at('10:00')}`,
    `free ${at('10:00')} ${at('11:00')}`,
  ]);
});

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

test('all wait for the clinic if one does, and until the same moment', () => {
  const manual = {
    ...room,
    extension: [
      { url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' },
      {
        url: artefactUri(config, 'LocalBookingPolicy'),
        extension: [{ url: 'confirmWithin', valueDuration: duration(1, 'd') }],
      },
    ],
  };
  const result = plan(several(nine, ten), world(manual));
  const found = written(result, 'Appointment');
  const ends = found.map(({ extension = [] }) => extension.find(({ valueInstant }) => valueInstant)?.valueInstant);
  expect(found.map(({ status }) => status)).toEqual(['pending', 'pending']);
  expect(ends[0]).toBe(ends[1]);
  expect(written(result, 'Task')).toHaveLength(2);
});

test('what several appointments cannot say together is malformed', () => {
  const same = { ...ten, id: 'x' };
  const body = parameters(...[{ ...nine, id: 'x' }, same].map((one) => resourceParameter('appt-resource', one)), {
    name: 'schedule',
    valueReference: { reference: 'Schedule/room' },
  });
  expect(issuesOf(plan(body, world()))).toEqual([
    'malformed-request Parameters.parameter[2].valueReference',
    'malformed-request Parameters.parameter[1].resource.id',
    'slot-mismatch Parameters.parameter[0].resource.slot[0]',
  ]);
});
