import { describe, expect, it } from '@jest/globals';
import type { Extension, HealthcareService } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from '../../../../core/calendar/parameters/scheduling-parameters.ts';
import { appointment, at, issuesOf, patient, plan, schedule, slot, stateOf } from '../support.ts';

const minutes = (url: string, value: number): Extension => ({
  url,
  valueDuration: { value, code: 'min', system: 'http://unitsofmeasure.org', unit: 'min' },
});
const parameters = (...extension: Extension[]): Extension[] => [{ url: SCHEDULING_PARAMETERS, extension }];
const service: HealthcareService = { resourceType: 'HealthcareService', id: 'ct' };

/** What speaks against taking this time out of a slot from 9:00 to 12:00. */
const taking = (start: string, end: string, ofSchedule: Extension[] = [], ofService: Extension[] = []): string[] =>
  issuesOf(
    plan(
      appointment({ start: at(start), end: at(end) }),
      stateOf(
        { ...schedule, extension: ofSchedule },
        { ...service, extension: ofService },
        patient,
        slot('nine', '09:00', '12:00'),
      ),
    ),
  );

describe('a part of a slot', () => {
  it.each([
    ['09:00', '09:05', []],
    ['09:05', '09:30', []],
    ['11:55', '12:00', []],
    ['09:00', '09:01', ['period-invalid Appointment.end']],
    ['09:03', '09:10', ['period-invalid Appointment.start']],
    ['09:05', '09:12', ['period-invalid Appointment.end']],
    ['09:01', '09:02', ['period-invalid Appointment.end', 'period-invalid Appointment.start']],
    ['11:58', '12:00', ['period-invalid Appointment.end', 'period-invalid Appointment.start']],
  ])('%s to %s, in steps of five minutes', (start, end, issues) => {
    expect(taking(start, end)).toEqual(issues);
  });

  it("is as long, and begins, as the service's scheduling parameters say", () => {
    const half = parameters(minutes('duration', 30), minutes('alignmentInterval', 15));
    expect(taking('09:15', '09:45', [], half)).toEqual([]);
    expect(taking('09:15', '09:30', [], half)).toEqual(['period-invalid Appointment.end']);
    expect(taking('09:15', '10:00', [], half)).toEqual(['period-invalid Appointment.end']);
    expect(taking('09:05', '09:35', [], half)).toEqual([
      'period-invalid Appointment.start',
      'period-invalid Appointment.end',
    ]);
  });

  it("the Schedule's go before the service's, and those that cannot be used do not count", () => {
    const ten = parameters(minutes('duration', 10), minutes('alignmentInterval', 10));
    expect(taking('09:10', '09:20', ten, parameters(minutes('duration', 60)))).toEqual([]);
    expect(taking('09:05', '09:15', ten)).not.toEqual([]);
    expect(taking('09:05', '09:10', parameters(minutes('duration', -1), minutes('alignmentInterval', 0)))).toEqual([]);
  });
});

it('a whole slot is booked however short it is', () => {
  const short = slot('nine', '09:00', '09:01');
  const state = stateOf(schedule, service, patient, short);
  expect(plan(appointment({ end: at('09:01') }), state).kind).toBe('write');
});
