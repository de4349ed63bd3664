import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import {
  afterPatientChange,
  survivorOf,
  unknownSurvivors,
} from '../../../../core/booking/appointment/patient-change.ts';
import { byId } from '../../../../core/booking/resource-set.ts';

const base = 'https://clinic.example/fhir/R4';
const patient = (id: string, more: Partial<Patient> = {}): Patient => ({ resourceType: 'Patient', id, ...more });
const merged = (id: string, into: string): Patient =>
  patient(id, { active: false, link: [{ type: 'replaced-by', other: { reference: `Patient/${into}` } }] });

const appointment = (...ids: readonly string[]): Appointment => ({
  resourceType: 'Appointment',
  status: 'booked',
  participant: ids.map((id) => ({ actor: { reference: `Patient/${id}`, display: id }, status: 'accepted' })),
});

const adapted = (given: Appointment, ...patients: readonly Patient[]) =>
  afterPatientChange(given, byId(patients), base);

describe('an appointment whose patient has gone', () => {
  it('is cancelled if nobody survives', () => {
    expect(adapted(appointment('a'), merged('a', 'b')).status).toBe('cancelled');
    expect(adapted(appointment('a'), merged('a', 'b'), merged('b', 'a')).status).toBe('cancelled');
    expect(survivorOf('a', byId([merged('a', 'a')]))).toBeUndefined();
  });
});

it('the survivors of merges that are not known are to be read, patients without an id are passed over', () => {
  const unstored: Patient = { resourceType: 'Patient' };
  const patients = byId([merged('a', 'b'), merged('b', 'c'), patient('d'), unstored]);
  expect([[...patients.keys()], unknownSurvivors(patients)]).toEqual([['a', 'b', 'd'], ['c']]);
});
