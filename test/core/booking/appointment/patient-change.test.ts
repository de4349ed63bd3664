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
  it('stays the very same while the patient is active', () => {
    const given = appointment('a');
    expect(adapted(given, patient('a'))).toBe(given);
  });

  it('is cancelled for one who was deleted or is inactive', () => {
    expect(adapted(appointment('a')).status).toBe('cancelled');
    expect(adapted(appointment('a'), patient('a', { active: false })).status).toBe('cancelled');
    expect(adapted(appointment('a', 'b'), patient('a')).status).toBe('cancelled');
  });

  it('is handed on to the survivor of a merge, once', () => {
    const survivors = [merged('a', 'b'), merged('b', 'c'), patient('c')];
    expect(adapted(appointment('a'), ...survivors).participant).toEqual([
      { actor: { reference: 'Patient/c', display: 'a' }, status: 'accepted' },
    ]);
    expect(adapted(appointment('c', 'a'), ...survivors).participant).toHaveLength(1);
  });

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
