import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, RelatedPerson, Resource } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import {
  appointment,
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
} from '../support.ts';

const free = slot('nine', '09:00', '09:30');
const newPatient: Patient = { resourceType: 'Patient', id: 'p1', identifier: [{ system: 'urn:kvnr', value: 'B456' }] };
const { participant: _, ...nobody } = appointment();
const pointingAt = (reference: string): Appointment =>
  appointment({ participant: [{ actor: { reference, display: 'Bea' }, status: 'accepted' }] });

function book(body: Appointment, submitted: Resource, ...state: Resource[]) {
  return plan(
    parameters(resourceParameter('appt-resource', body), resourceParameter('patient', submitted)),
    stateOf(schedule, free, ...state),
  );
}

describe('a patient handed over in the booking', () => {
  it('does not claim the profile of a publisher falsely', () => {
    const isik = resolveConfig({ preset: 'isik', baseUrl: config.baseUrl });
    const profile = [artefactUri(isik, 'LocalPatient'), 'urn:profile'];
    const name = { use: 'official' as const, family: 'Muster', given: ['Bea'] };
    const known = (names: Patient['name']): Patient => ({
      ...newPatient,
      meta: { profile },
      identifier: [
        {
          type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] },
          system: 'urn:clinic',
          value: '1',
        },
      ],
      name: names,
      gender: 'female',
      birthDate: '1990-05-17',
    });
    const claimed = (patient: Patient) => {
      const body = parameters(resourceParameter('appt-resource', nobody), resourceParameter('patient', patient));
      return written(plan(body, stateOf(schedule, free), { config: isik }), 'Patient')[0]?.meta?.profile;
    };
    expect(claimed(known([name]))).toEqual(profile);
    expect(claimed(known([name, name]))).toEqual(['urn:profile']);
  });

  it('is the participant that a urn names although the appointment contains something of the same id', () => {
    const contained: Appointment['contained'] = [{ resourceType: 'Practitioner', id: 'p1' }];
    const result = book({ ...pointingAt('urn:uuid:p1'), contained }, newPatient);
    const [first] = written(result, 'Appointment')[0]?.participant ?? [];
    expect(first?.actor?.reference).toMatch(/^urn:uuid:0/);
  });

  const duplicate = (id: string, second: number, author = 'Bot/book'): Patient => ({
    ...patient,
    id,
    meta: { ...patient.meta, lastUpdated: `2027-01-01T00:00:0${second}.000Z`, author: { reference: author } },
  });
  const again: Patient = { ...newPatient, identifier: patient.identifier ?? [] };

  it.each([
    ['bookings at the same moment have created it twice: the oldest', [duplicate('b', 2), duplicate('a', 1)], 'a'],
    ['a duplicate was merged into it', [{ ...duplicate('a', 1), active: false }, patient], 'anna'],
    [
      'another one was merged into it',
      [{ ...patient, id: 'a', link: [{ type: 'replaced-by' as const, other: {} }] }, patient],
      'anna',
    ],
  ])('is the active patient where %s', (_, state, id) => {
    const result = book(pointingAt('#p1'), again, ...state);
    expect(written(result, 'Patient')).toEqual([]);
    expect(written(result, 'Appointment')[0]?.participant[0]?.actor?.reference).toBe(`Patient/${id}`);
  });

  it('is ambiguous where only one of two came with a booking', () => {
    const result = book(pointingAt('#p1'), again, duplicate('a', 1), duplicate('b', 2, 'ClientApplication/portal'));
    expect(issuesOf(result)).toEqual(['patient-ambiguous Parameters.parameter[1].resource.identifier']);
  });

  it('is known by its id, too', () => {
    const { identifier: _, ...anna } = patient;
    const result = book(pointingAt('Patient/anna'), anna, patient);
    expect(written(result, 'Patient')).toEqual([]);
    expect(written(result, 'Appointment')[0]?.participant).toMatchObject([{ actor: { reference: 'Patient/anna' } }]);
  });
});

describe('a related person who books for the patient', () => {
  const mother = { resourceType: 'RelatedPerson', id: 'm', patient: {}, name: [{ family: 'Muster' }] };

  it('is not the one who was handed over for another patient', () => {
    const identifier = [{ system: 'urn:kvnr', value: 'M1' }];
    const known: RelatedPerson = {
      resourceType: 'RelatedPerson',
      id: 'known',
      meta: patient.meta ?? {},
      identifier,
      patient: { reference: 'Patient/anna' },
    };
    const relatedOf = (reference: string) => {
      const body = parameters(
        resourceParameter('appt-resource', appointment()),
        resourceParameter('related-person', { ...mother, identifier }),
      );
      const stored = { ...known, patient: { reference } };
      return plan(body, stateOf(schedule, free, patient, stored));
    };
    expect(written(relatedOf('Patient/anna'), 'RelatedPerson')).toEqual([]);
    expect(written(relatedOf('Patient/other'), 'RelatedPerson')[0]?.patient).toEqual({ reference: 'Patient/anna' });
  });

  it('is not the patient who has the same id', () => {
    const body = parameters(
      resourceParameter('appt-resource', appointment()),
      resourceParameter('related-person', { ...mother, id: 'anna' }),
    );
    const references = written(plan(body), 'Appointment')[0]?.participant.map(({ actor }) => actor?.reference);
    expect(references?.[0]).toBe('Patient/anna');
    expect(references?.[1]).toMatch(/^urn:uuid:/);
  });

  it('is the participant that points at it', () => {
    const body = parameters(
      resourceParameter('appt-resource', {
        ...appointment(),
        participant: [...(appointment().participant ?? []), { actor: { reference: '#m' }, status: 'accepted' }],
      }),
      resourceParameter('related-person', mother),
    );
    const result = plan(body);
    expect(written(result, 'Appointment')[0]?.participant).toHaveLength(2);
    expect(written(result, 'RelatedPerson')[0]?.patient).toEqual({ reference: 'Patient/anna' });
  });
});
