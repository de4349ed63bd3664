import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, RelatedPerson, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { bookingRejectionIssues, parseBookRequest } from '../../../core/booking/request/request.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { told } from '../../lib/told.ts';
import {
  appointment,
  at,
  config,
  parameters,
  patient,
  plan,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  written,
} from './support.ts';

describe('the form of a request', () => {
  it('of any JSON value whatsoever ends in a plan, never in an exception', () => {
    const keys = fc.constantFrom(
      'resourceType',
      'parameter',
      'name',
      'resource',
      'slot',
      'participant',
      'actor',
      'reference',
      'status',
      'start',
      'meta',
      'tag',
      '__proto__',
    );
    const words = fc.constantFrom(
      'Appointment',
      'Parameters',
      'Patient',
      'appt-resource',
      'patient',
      'proposed',
      'Slot/nine',
      at('09:00'),
    );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 6 },
        words,
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(keys, tie('json')),
      ),
    }));
    const shaped = fc.record(
      {
        ...Object.fromEntries(
          Object.keys(appointment()).map((key) => [key, fc.oneof(fc.constant(appointment()[key as 'slot']), json)]),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          shaped.map((some) => ({ ...some, resourceType: 'Appointment' })),
        ),
        (body) => {
          const result = plan(body);
          expect(result.kind !== 'refuse' || result.issues.length > 0).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

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

  const duplicate = (id: string, author = 'Bot/book'): Patient => ({
    ...patient,
    id,
    meta: { ...patient.meta, author: { reference: author } },
  });
  const again: Patient = { ...newPatient, identifier: patient.identifier ?? [] };

  it.each([
    ['bookings at the same moment have created it twice: the one that stays', [duplicate('b'), duplicate('a')], 'a'],
    ['a duplicate was merged into it', [{ ...duplicate('a'), active: false }, patient], 'anna'],
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
});

const { request } = parseBookRequest(
  parameters(resourceParameter('appt-resource', appointment()), resourceParameter('patient', patient)),
  config,
);

it.each([
  ['Appointment.participant[0].status', 'Parameters.parameter[0].resource.participant[0].status'],
  ['Patient.birthDate', 'Parameters.parameter[1].resource.birthDate'],
  ['Slot.start', 'Slot.start'],
])('what the server rejects at %s is reported at %s', (expression, path) => {
  const issue = [{ severity: 'error' as const, code: 'structure' as const, expression: [expression] }];
  const issues = request ? bookingRejectionIssues({ resourceType: 'OperationOutcome', issue }, request) : [];
  expect(told(issues)).toEqual([`malformed-request ${path}`]);
});
