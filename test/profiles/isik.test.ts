import { describe, expect, test } from '@jest/globals';
import type { Resource } from '@medplum/fhirtypes';
import { resolveConfig } from '../../core/config/resolve.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { faultsIn, knownPatient } from './isik.ts';

const specialty = [{ coding: [{ system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code: 'ALLG' }] }];
const type = { text: 'Visit' };
const examples: Readonly<Record<string, object>> = {
  Appointment: {
    status: 'booked',
    start: '2027-01-04T09:00:00.000Z',
    end: '2027-01-04T09:30:00.000Z',
    serviceType: [type],
    specialty,
    participant: [{ actor: { reference: 'Patient/1', display: 'Kim' }, status: 'accepted' }],
  },
  Schedule: { active: true, serviceType: [type], specialty, actor: [{ reference: 'Practitioner/1' }] },
  Slot: {
    schedule: { reference: 'Schedule/1' },
    status: 'free',
    start: '2027-01-04T09:00:00.000Z',
    end: '2027-01-04T09:30:00.000Z',
  },
  HealthcareService: { active: true, name: 'Visit', type: [type], specialty },
  Patient: knownPatient,
};

const names = { Appointment: 'LocalTermin', Schedule: 'LocalSchedule', Patient: 'LocalPatient' } as const;

describe.each(['isik3', 'isik4', 'isik5', 'isik'])('our statement of the profiles of %s', (preset) => {
  const config = resolveConfig({ preset, baseUrl: 'http://localhost:8080/fhir/R4' });
  const faults = (resourceType: string, more: object = {}): string[] => {
    const name = Object.entries(names).find(([one]) => one === resourceType)?.[1];
    const profile = name ? [artefactUri(config, name)] : [];
    const resource: Resource = Object({ resourceType, meta: { profile }, ...examples[resourceType], ...more });
    return faultsIn(resource, preset, config);
  };

  test.each(Object.keys(examples))('holds for a good %s', (resourceType) => {
    expect(faults(resourceType)).toEqual([]);
  });

  test.each<[string, object, number]>([
    ['Appointment', { serviceType: undefined }, 1],
    ['Appointment', { participant: [{ status: 'accepted' }] }, preset === 'isik4' ? 2 : 1],
    ['Appointment', { specialty: [{ text: 'Surgery' }] }, preset === 'isik3' ? 1 : 2],
    [
      'Appointment',
      { specialty: [...specialty, { coding: [...(specialty[0]?.coding ?? []), ...(specialty[0]?.coding ?? [])] }] },
      1,
    ],
    ['Appointment', { cancelationReason: { text: 'mood' } }, 1],
    ['Schedule', { specialty: undefined }, 1],
    ['Slot', { schedule: { display: 'x' } }, 1],
    ['HealthcareService', { type: undefined, specialty: undefined }, 2],
    ['Patient', { name: [{ family: 'Muster' }] }, 1],
    ['Patient', { address: [{ type: 'both', city: 'Ulm' }], telecom: [{ system: 'phone' }] }, 2],
    ['CodeSystem', { url: 'x', version: '1', name: 'x' }, 1],
    ['ValueSet', { url: 'x', version: '1', name: 'x' }, 2],
  ])('finds what is wrong with a %s of %j', (resourceType, more, count) => {
    expect(faults(resourceType, more)).toHaveLength(count);
  });
});
