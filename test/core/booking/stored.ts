import type { Appointment, Patient } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';

/** The installation of these tests. */
export const config = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });

const id = (digit: number): string => `${digit}0000000-0000-4000-8000-000000000000`;

/** An appointment as it is stored. */
export const stored: Appointment = {
  resourceType: 'Appointment',
  id: id(1),
  meta: {
    versionId: id(9),
    profile: [artefactUri(config, 'LocalTermin')],
    tag: [
      { system: config.metaTagSystem, code: 'external' },
      { system: artefactUri(config, 'LocalRequestor'), code: 'portal' },
    ],
  },
  status: 'booked',
  start: '2031-01-06T08:00:00.000Z',
  end: '2031-01-06T09:00:00.000Z',
  slot: [{ reference: `Slot/${id(2)}` }, { reference: `Slot/${id(3)}` }],
  serviceType: [{ coding: [{ system: 'https://clinic.example/services', code: 'ct' }] }],
  participant: [
    { actor: { reference: 'Practitioner/1', display: 'Dr. Huber' }, status: 'accepted' },
    { actor: { reference: `Patient/${id(4)}`, display: 'Kim Muster' }, status: 'accepted' },
  ],
};

/** The patient of the appointment, active. */
export const patient: Patient = { resourceType: 'Patient', id: id(4) };
