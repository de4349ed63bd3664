import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, QuestionnaireResponse, RelatedPerson, Resource } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
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
type Body = Omit<Appointment, 'participant'>;
const pointingAt = (reference: string): Appointment =>
  appointment({ participant: [{ actor: { reference, display: 'Bea' }, status: 'accepted' }] });

function book(body: Body, submitted: Resource, ...state: Resource[]) {
  return plan(
    parameters(resourceParameter('appt-resource', body), resourceParameter('patient', submitted)),
    stateOf(schedule, free, ...state),
  );
}

describe('a patient handed over in the booking', () => {
  it('keeps the profiles that it claims', () => {
    const [created] = written(book(nobody, { ...newPatient, meta: { profile: ['urn:profile'] } }), 'Patient');
    expect(created?.meta?.profile).toEqual(['urn:profile', artefactUri(config, 'LocalPatient')]);
  });

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

  it.each<[string, Body]>([
    ['nobody', nobody],
    ['a contained-like id', pointingAt('#p1')],
    ['a urn', pointingAt('urn:uuid:6b1f0d5e-0000-4000-8000-000000000000')],
    ['the id it was sent with', pointingAt('Patient/p1')],
    [
      'a practitioner only',
      appointment({ participant: [{ actor: { reference: 'Practitioner/d' }, status: 'accepted' }] }),
    ],
  ])('is created in the same transaction where the participant is %s', (_, body) => {
    const result = book(body, newPatient);
    const entries = result.kind === 'write' ? (result.transaction.entry ?? []) : [];
    const created = entries.find(({ resource }) => resource?.resourceType === 'Patient');
    expect(created?.request).toEqual({ method: 'POST', url: 'Patient' });
    expect(created?.resource).toMatchObject({
      identifier: newPatient.identifier,
      meta: {
        tag: [{ system: config.metaTagSystem, code: 'external' }, requestorTag('portal', config)],
        profile: [artefactUri(config, 'LocalPatient')],
      },
    });
    expect(created?.resource?.id).toBeUndefined();
    const actors = written(result, 'Appointment')[0]?.participant.map(({ actor }) => actor?.reference);
    expect(actors?.at(-1)).toBe(created?.fullUrl);
    expect(actors?.filter((reference) => reference === created?.fullUrl)).toHaveLength(1);
  });

  it('is not made twice if the requestor has submitted its identifier before', () => {
    const result = book(pointingAt('#p1'), { ...newPatient, identifier: patient.identifier ?? [] }, patient);
    expect(written(result, 'Patient')).toEqual([]);
    expect(written(result, 'Appointment')[0]?.participant[0]?.actor).toEqual({
      reference: 'Patient/anna',
      display: 'Bea',
    });
  });

  it('is the participant that a urn names although the appointment contains something of the same id', () => {
    const contained: Appointment['contained'] = [{ resourceType: 'Practitioner', id: 'p1' }];
    const result = book({ ...pointingAt('urn:uuid:p1'), contained }, newPatient);
    const [first] = written(result, 'Appointment')[0]?.participant ?? [];
    expect(first?.actor?.reference).toMatch(/^urn:uuid:0/);
  });

  it('may be named as participant by its stored id as well', () => {
    const result = book(appointment(), { ...newPatient, identifier: patient.identifier ?? [] }, patient);
    expect(written(result, 'Appointment')[0]?.participant).toHaveLength(1);
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

  it('is refused once if it is inactive and named as participant', () => {
    const result = book(appointment(), again, { ...patient, active: false });
    expect(issuesOf(result)).toEqual(['patient-inactive Parameters.parameter[1].resource']);
  });

  it("is not taken for another requestor's patient with the same identifier", () => {
    const foreign = { ...patient, meta: { tag: [requestorTag('other-portal', config)] } };
    const result = book(nobody, { ...newPatient, identifier: patient.identifier ?? [] }, foreign);
    expect(written(result, 'Patient')).toHaveLength(1);
  });

  it.each<[string, Body, Patient, Resource[], string[]]>([
    [
      'several patients have its identifier',
      nobody,
      { ...newPatient, identifier: patient.identifier ?? [] },
      [patient, { ...patient, id: 'anna-2' }],
      ['patient-ambiguous Parameters.parameter[1].resource.identifier'],
    ],
    [
      'another patient is the participant',
      appointment(),
      newPatient,
      [patient],
      ['patient-mismatch Appointment.participant[0].actor'],
    ],
    [
      'it is inactive',
      nobody,
      { ...newPatient, active: false },
      [],
      ['patient-inactive Parameters.parameter[1].resource'],
    ],
    [
      'the stored one is inactive',
      nobody,
      { ...newPatient, identifier: patient.identifier ?? [] },
      [{ ...patient, active: false }],
      ['patient-inactive Parameters.parameter[1].resource'],
    ],
  ])('is refused if %s', (_, body, submitted, state, issues) => {
    const prefix = 'Parameters.parameter[0].resource';
    expect(issuesOf(book(body, submitted, ...state))).toEqual(
      issues.map((issue) => issue.replace('Appointment', prefix)),
    );
  });
});

it('a patient named by an absolute address of this server is stored under the relative one', () => {
  const result = plan(pointingAt(`${config.baseUrl}/Patient/anna`));
  expect(written(result, 'Appointment')[0]?.participant).toEqual([
    { actor: { reference: 'Patient/anna', display: 'Bea' }, status: 'accepted' },
  ]);
});

describe('a related person who books for the patient', () => {
  const mother = { resourceType: 'RelatedPerson', id: 'm', patient: {}, name: [{ family: 'Muster' }] };
  it('is created with the patient, and takes part', () => {
    const body = parameters(
      resourceParameter('appt-resource', pointingAt('#p1')),
      resourceParameter('patient', newPatient),
      resourceParameter('related-person', mother),
    );
    const result = plan(body, stateOf(schedule, free));
    const [bea, related] = written(result, 'Appointment')[0]?.participant ?? [];
    expect(written(result, 'RelatedPerson')[0]?.patient).toEqual({ reference: bea?.actor?.reference });
    const entries = result.kind === 'write' ? (result.transaction.entry ?? []) : [];
    const created = entries.find(({ resource }) => resource?.resourceType === 'RelatedPerson');
    expect(created?.request).toEqual({ method: 'POST', url: 'RelatedPerson' });
    expect(related?.actor?.reference).toMatch(/^urn:uuid:/);
    expect(related?.actor?.reference).not.toBe(bea?.actor?.reference);
  });

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

describe('answers that the patient hands over', () => {
  const response: QuestionnaireResponse = {
    resourceType: 'QuestionnaireResponse',
    status: 'completed',
    subject: { reference: 'Patient/somebody-else' },
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
    item: [
      { linkId: '1', text: 'Allergies', answer: [{ valueString: 'none', item: [{ linkId: '1.1', text: 'Since' }] }] },
    ],
  };
  const bookWith = (...answers: unknown[]) =>
    plan(
      parameters(
        resourceParameter('appt-resource', appointment()),
        ...answers.map((answer) => resourceParameter('patientSubmittedInformation', answer)),
      ),
    );

  it('are stored about the patient and linked from the appointment', () => {
    const result = bookWith(response, response);
    const stored = written(result, 'QuestionnaireResponse');
    expect(stored.map(({ subject }) => subject)).toEqual([
      { reference: 'Patient/anna' },
      { reference: 'Patient/anna' },
    ]);
    const linked = written(result, 'Appointment')[0]?.supportingInformation ?? [];
    const entries = result.kind === 'write' ? (result.transaction.entry ?? []) : [];
    expect(linked.map(({ reference }) => reference)).toEqual(
      entries
        .filter(({ resource }) => resource?.resourceType === 'QuestionnaireResponse')
        .map(({ fullUrl }) => fullUrl),
    );
  });

  it.each<[string, object, string[]]>([
    ['no text', { text: undefined }, ['answers-text-missing Parameters.parameter[1].resource.text']],
    [
      'text without a word in it',
      { text: { status: 'generated', div: '<div> <p>&#160;</p></div>' } },
      ['answers-text-missing Parameters.parameter[1].resource.text'],
    ],
    [
      'text that only looks like tags',
      { text: { status: 'generated', div: '<'.repeat(60_000) } },
      ['profile-violation Parameters.parameter[1].resource.text.div'],
    ],
    ['no items', { item: undefined }, ['answers-items-missing Parameters.parameter[1].resource.item']],
    [
      'a question without its text, deep inside',
      {
        item: [
          { linkId: '1', text: 'A', answer: [{ valueString: 'x', item: [{ linkId: '2' }] }], item: [{ linkId: '3' }] },
        ],
      },
      [
        'answers-items-missing Parameters.parameter[1].resource.item[0].item[0].text',
        'answers-items-missing Parameters.parameter[1].resource.item[0].answer[0].item[0].text',
      ],
    ],
  ])('are refused with %s', (_, more, issues) => {
    expect(issuesOf(bookWith({ ...response, ...more }))).toEqual(issues);
  });
});
