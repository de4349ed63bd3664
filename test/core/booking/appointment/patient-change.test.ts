import { expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { survivorOf, unknownSurvivors } from '../../../../core/booking/appointment/patient-change.ts';
import { byId } from '../../../../core/rows/resource-set.ts';

const patient = (id: string, more: Partial<Patient> = {}): Patient => ({ resourceType: 'Patient', id, ...more });
const merged = (id: string, into: string): Patient =>
  patient(id, { active: false, link: [{ type: 'replaced-by', other: { reference: `Patient/${into}` } }] });

it('nobody survives merges that lead nowhere, or in a circle', () => {
  expect(survivorOf('a', byId([merged('a', 'b')]))).toBeUndefined();
  expect(survivorOf('a', byId([merged('a', 'b'), merged('b', 'a')]))).toBeUndefined();
  expect(survivorOf('a', byId([merged('a', 'a')]))).toBeUndefined();
});

it('the survivors of merges that are not known are to be read, patients without an id are passed over', () => {
  const unstored: Patient = { resourceType: 'Patient' };
  const patients = byId([merged('a', 'b'), merged('b', 'c'), patient('d'), unstored]);
  expect([[...patients.keys()], unknownSurvivors(patients)]).toEqual([['a', 'b', 'd'], ['c']]);
});
