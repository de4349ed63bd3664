import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { validateChange, validateCreation } from '../../../../core/booking/appointment/change.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { told } from '../../../lib/told.ts';
import { cases, config, patient, stored } from '../change.cases.ts';

const appointment = (value: unknown): Appointment => {
  if (!isResource(value, 'Appointment')) {
    throw new Error('The case is no Appointment.');
  }
  return value;
};

describe('validateChange', () => {
  it.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const patients = 'patient' in one ? (one.patient ? [one.patient] : []) : [patient];
    const known = new Map(patients.map((found) => [found.id ?? '', found] as const));
    const issues = validateChange(stored, appointment(one.result), 'repository', known, 0, config);
    expect(told(issues)).toEqual(one.issues);
  });
});

it('a change adds no code that FHIR does not have; one from before does not keep it from being cancelled', () => {
  const known = new Map([[patient.id ?? '', patient]]);
  const judged = (before: object, more: object) => {
    const one = appointment({ ...stored, ...before });
    return told(validateChange(one, appointment({ ...one, ...more }), 'requestor', known, 0, config));
  };
  const strange = { identifier: [{ use: 'strange', value: '1' }] };
  expect(judged({}, strange)).toEqual(['profile-violation Appointment.identifier[0].use']);
  expect(judged(strange, { status: 'cancelled' })).toEqual([]);
});

describe('validateCreation', () => {
  it('requires patients who exist and are active', () => {
    expect(validateCreation(stored, new Map([[patient.id ?? '', patient]]), config)).toEqual([]);
    expect(told(validateCreation(stored, new Map(), config))).toEqual([
      'patient-not-found Appointment.participant[1].actor',
    ]);
  });
});

describe('a request that waits for the clinic', () => {
  const deadline = Date.parse('2027-01-02T12:00:00Z');
  const url = artefactUri(config, 'LocalConfirmationDeadline');
  const waiting: Appointment = {
    ...stored,
    status: 'pending',
    extension: [...(stored.extension ?? []), { url, valueInstant: '2027-01-02T12:00:00Z' }],
  };
  const known = new Map([[patient.id ?? '', patient]]);
  const become = (status: Appointment['status'], now: number) =>
    told(validateChange(waiting, { ...waiting, status }, 'repository', known, now, config));

  it.each<[string, Appointment['status'], number, string[]]>([
    ['can be confirmed before its deadline', 'booked', deadline - 1, []],
    ['cannot be confirmed from its deadline on', 'booked', deadline, ['confirmation-expired Appointment.status']],
    ['can still be cancelled after its deadline', 'cancelled', deadline, []],
  ])('%s', (_, status, now, expected) => {
    expect(become(status, now)).toEqual(expected);
  });
});
