import { describe, expect, it } from '@jest/globals';
import type {
  Appointment,
  Extension,
  HealthcareService,
  Patient,
  QuestionnaireResponse,
  RelatedPerson,
  Resource,
  Schedule,
} from '@medplum/fhirtypes';
import fc from 'fast-check';
import { questionnaireResponseIssues } from '../../../core/booking/book/request/questionnaire-response.ts';
import { asksForDryRun, parseBookRequest } from '../../../core/booking/book/request/request.ts';
import { bookingRejectionIssues } from '../../../core/booking/book/server-rejection.ts';
import { confirmationOf } from '../../../core/booking/book/slots/service-type.ts';
import { SCHEDULING_PARAMETERS } from '../../../core/calendar/parameters/scheduling-parameters.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { told } from '../../lib/told.ts';
import {
  appointment,
  at,
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
} from './support.ts';

type Wish = 'manual' | 'automatic' | undefined;

const said = (code: string | undefined) =>
  code === undefined ? {} : { extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }] };

/** Schedules, each with what it says itself and what its services say. */
const decided = (byDefault: 'manual' | 'automatic', ...all: readonly (readonly [Wish, ...Wish[]])[]) => {
  const calendars = all.map(([own], index): Schedule => ({ ...schedule, id: `${index}`, ...said(own) }));
  const servicesOf = ({ id }: Schedule) =>
    (all[Number(id)] ?? [])
      .slice(1)
      .map((wish): HealthcareService => ({ resourceType: 'HealthcareService', ...said(wish) }));
  return confirmationOf(calendars, servicesOf, { ...config, confirmation: byDefault });
};

it.each<['manual' | 'automatic', (readonly [Wish, ...Wish[]])[], string]>([
  ['automatic', [[undefined]], 'automatic'],
  ['manual', [[undefined]], 'manual'],
  ['manual', [[undefined, undefined, 'automatic']], 'automatic'],
  ['automatic', [[undefined, 'automatic', 'manual']], 'manual'],
  ['automatic', [['automatic', 'manual']], 'automatic'],
  ['automatic', [['manual', 'automatic']], 'manual'],
  ['automatic', [['automatic'], [undefined, 'manual']], 'manual'],
  ['manual', [['automatic'], [undefined]], 'manual'],
  ['manual', [], 'automatic'],
])('by default %s, said %j: %s', (byDefault, all, expected) => {
  expect(decided(byDefault, ...all)).toBe(expected);
});

describe('granularity', () => {
  const minutes = (url: string, value: number): Extension => ({
    url,
    valueDuration: { value, code: 'min', system: 'http://unitsofmeasure.org', unit: 'min' },
  });

  const parameters = (...extension: Extension[]): Extension[] => [{ url: SCHEDULING_PARAMETERS, extension }];
  const service: HealthcareService = { resourceType: 'HealthcareService', id: 'ct' };

  /** What speaks against taking this time out of a slot from 9:00 to 12:00. */
  const taking = (start: string, end: string, ofSchedule: Extension[] = [], ofService: Extension[] = []): string[] =>
    issuesOf(
      plan(
        appointment({ start: at(start), end: at(end) }),
        stateOf(
          { ...schedule, extension: ofSchedule },
          { ...service, extension: ofService },
          patient,
          slot('nine', '09:00', '12:00'),
        ),
      ),
    );

  describe('a part of a slot', () => {
    it.each([
      ['09:00', '09:05', []],
      ['09:05', '09:30', []],
      ['11:55', '12:00', []],
      ['09:00', '09:01', ['period-invalid Appointment.end']],
      ['09:03', '09:10', ['period-invalid Appointment.start']],
      ['09:05', '09:12', ['period-invalid Appointment.end']],
      ['09:01', '09:02', ['period-invalid Appointment.end', 'period-invalid Appointment.start']],
      ['11:58', '12:00', ['period-invalid Appointment.end', 'period-invalid Appointment.start']],
    ])('%s to %s, in steps of five minutes', (start, end, issues) => {
      expect(taking(start, end)).toEqual(issues);
    });

    it("is as long, and begins, as the service's scheduling parameters say", () => {
      const half = parameters(minutes('duration', 30), minutes('alignmentInterval', 15));
      expect(taking('09:15', '09:45', [], half)).toEqual([]);
      expect(taking('09:15', '09:30', [], half)).toEqual(['period-invalid Appointment.end']);
      expect(taking('09:15', '10:00', [], half)).toEqual(['period-invalid Appointment.end']);
      expect(taking('09:05', '09:35', [], half)).toEqual([
        'period-invalid Appointment.start',
        'period-invalid Appointment.end',
      ]);
    });
  });

  it('a whole slot is booked however short it is', () => {
    const short = slot('nine', '09:00', '09:01');
    const state = stateOf(schedule, service, patient, short);
    expect(plan(appointment({ end: at('09:01') }), state).kind).toBe('write');
  });
});

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

it.each<[unknown, boolean]>([
  [[{ name: 'dry-run', valueBoolean: true }], true],
  [[null, { name: 'x' }, { name: 'dry-run', valueBoolean: true }], true],
  [[{ name: 'dry-run', valueBoolean: false }], false],
  [[{ name: 'other', valueBoolean: true }], false],
  ['dry-run', false],
  [undefined, false],
])('the parameters %j ask for a dry run: %s', (parameter, expected) => {
  expect(asksForDryRun({ resourceType: 'Parameters', parameter })).toBe(expected);
  expect(asksForDryRun({ resourceType: 'Bundle', parameter })).toBe(false);
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

describe('questionnaire response', () => {
  const readable = {
    resourceType: 'QuestionnaireResponse' as const,
    status: 'completed' as const,
    text: { status: 'generated' as const, div: '<div xmlns="http://www.w3.org/1999/xhtml">Any allergies? None.</div>' },
  };

  const issuesOf = (item: unknown): string[] =>
    told(questionnaireResponseIssues({ value: { ...readable, item } as QuestionnaireResponse, path: 'R' }));

  const question = { linkId: '1', text: 'Any allergies?' };

  it.each<[string, unknown, string[]]>([
    ['without its question', [question, { linkId: '2' }], ['answers-items-missing R.item[1].text']],
    ['inside another', [{ ...question, item: [{ linkId: '2' }] }], ['answers-items-missing R.item[0].item[0].text']],
    [
      'below an answer',
      [{ ...question, answer: [{ valueBoolean: true }, { item: [{ linkId: '2' }] }] }],
      ['answers-items-missing R.item[0].answer[1].item[0].text'],
    ],
  ])('an item %s', (_, item, expected) => {
    expect(issuesOf(item)).toEqual(expected);
  });
});
