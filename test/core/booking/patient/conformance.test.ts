import { expect, test } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { conformsToProfile } from '../../../../core/booking/patient/conformance.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';

const config = resolveConfig({ preset: 'isik', baseUrl: 'https://clinic.example/fhir/R4' });

const known: Patient = {
  resourceType: 'Patient',
  identifier: [
    {
      type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] },
      system: 'https://clinic.example/patients',
      value: '1',
    },
  ],
  name: [{ use: 'official', family: 'Muster', given: ['Kim'] }],
  gender: 'other',
  birthDate: '1990-05-17',
};

test('a patient with everything that the profile demands claims it', () => {
  expect(conformsToProfile(known, config)).toBe(true);
});

test.each([
  ['the number of the clinic', { identifier: [{ system: 'https://portal.example', value: '1' }] }],
  [
    'a number of the clinic that is of the right type',
    {
      identifier: [
        {
          type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'VN' }] },
          system: 'https://clinic.example/patients',
          value: '1',
        },
      ],
    },
  ],
  ['an identifier', { identifier: undefined }],
  ['an official name', { name: [{ family: 'Muster', given: ['Kim'] }] }],
  ['a given name', { name: [{ use: 'official' as const, family: 'Muster' }] }],
  ['a gender', { gender: undefined }],
  ['a date of birth', { birthDate: undefined }],
])('a provisional patient without %s does not', (_, more) => {
  expect(conformsToProfile({ ...known, ...more }, config)).toBe(false);
});

test('the neutral profile demands nothing', () => {
  const neutral = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });
  expect(conformsToProfile({ resourceType: 'Patient' }, neutral)).toBe(true);
});
