import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asksForDryRun, parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { told } from '../../../lib/told.ts';
import {
  appointment,
  at,
  config,
  issuesOf,
  parameters,
  patient,
  plan,
  resourceParameter,
  written,
} from '../support.ts';

const participant = (reference: string) => ({ participant: [{ actor: { reference }, status: 'accepted' as const }] });

describe('the form of a request', () => {
  it.each<[string, unknown, string[]]>([
    ['no object', 'hello', ['malformed-request http.body']],
    ['null', null, ['malformed-request http.body']],
    ['another resource', patient, ['malformed-request http.body']],
    ['Parameters without parameters', { resourceType: 'Parameters' }, ['malformed-request Parameters.parameter']],
    ['no appointment', parameters(), ['element-missing Parameters']],
    ['a patient only', parameters(resourceParameter('patient', patient)), ['element-missing Parameters']],
    [
      'an unknown parameter',
      parameters(resourceParameter('appt-resource', appointment()), { name: 'colour', valueString: 'blue' }),
      ['parameter-unknown Parameters.parameter[1].name'],
    ],
    [
      'a name that every object has',
      parameters(resourceParameter('appt-resource', appointment()), { name: 'constructor' }),
      ['parameter-unknown Parameters.parameter[1].name'],
    ],
    [
      'the wrong resource in a parameter',
      parameters(resourceParameter('appt-resource', patient)),
      ['malformed-request Parameters.parameter[0]'],
    ],
    [
      'two appointments',
      parameters(resourceParameter('appt-resource', appointment()), resourceParameter('appointment', appointment())),
      ['malformed-request Parameters.parameter[1].resource'],
    ],
    [
      'a slot that is no list',
      { ...appointment(), slot: { reference: 'Slot/nine' } },
      ['malformed-request Appointment.slot'],
    ],
    ['an empty list', appointment({ slot: [] }), ['malformed-request Appointment.slot']],
    ['null in a list', { ...appointment(), participant: [null] }, ['malformed-request Appointment.participant[0]']],
    [
      'several elements of the wrong type',
      { ...appointment(), status: 5, serviceType: [{ coding: 'ct' }] },
      ['malformed-request Appointment.status', 'malformed-request Appointment.serviceType[0].coding'],
    ],
    [
      'elements of the wrong type, and rules that are broken besides',
      { ...appointment({ start: '2020-01-01T10:00:00Z', end: '2020-01-01T09:00:00Z' }), slot: 'nine', mood: 'good' },
      [
        'malformed-request Appointment.slot',
        'malformed-request Appointment.mood',
        'period-invalid Appointment.end',
        'start-in-past Appointment.start',
      ],
    ],
    [
      'an element of the wrong type, which is not missing too',
      { ...appointment(), start: 5, participant: [{ actor: { reference: 7 }, status: 'accepted' }] },
      ['malformed-request Appointment.start', 'malformed-request Appointment.participant[0].actor.reference'],
    ],
    [
      'parameters that cannot be read, and what is wrong besides',
      parameters(
        resourceParameter('appt-resource', appointment({ status: 'booked', slot: undefined, participant: undefined })),
        { name: 'schedule', valueString: 'x' },
        resourceParameter('patient', { resourceType: 'Group' }),
      ),
      [
        'malformed-request Parameters.parameter[1]',
        'malformed-request Parameters.parameter[2]',
        'status-not-proposed Parameters.parameter[0].resource.status',
      ],
    ],
    [
      'everything missing',
      { resourceType: 'Appointment' },
      [
        'element-missing Appointment.status',
        'element-missing Appointment.start',
        'element-missing Appointment.end',
        'element-missing Appointment.participant',
        'slot-or-schedule-missing Appointment.slot',
      ],
    ],
    [
      'a participant without status',
      { ...appointment(), participant: [{ actor: { reference: 'Patient/anna' } }] },
      ['element-missing Appointment.participant[0].status'],
    ],
    [
      'a day that does not exist',
      appointment({ start: '2027-02-30T09:00:00Z' }),
      ['malformed-request Appointment.start'],
    ],
    ['a time without offset', appointment({ end: '2027-01-04T09:30:00' }), ['malformed-request Appointment.end']],
    ['a leap second', appointment({ end: '2027-01-04T09:30:60Z' }), ['malformed-request Appointment.end']],
    [
      'nobody who is a patient',
      appointment(participant('Practitioner/p')),
      ['patient-missing Appointment.participant'],
    ],
    [
      'a participant elsewhere',
      appointment(participant('https://other.example/Patient/1')),
      ['malformed-request Appointment.participant[0].actor'],
    ],
    [
      'a participant by search',
      appointment(participant('Patient?identifier=1')),
      ['malformed-request Appointment.participant[0].actor'],
    ],
    [
      'a path that climbs',
      appointment(participant('Patient/../Bot')),
      ['malformed-request Appointment.participant[0].actor'],
    ],
    [
      'a slot named twice in two spellings',
      appointment({ slot: [{ reference: 'Slot/nine' }, { reference: `${config.baseUrl}/Slot/nine` }] }),
      ['malformed-request Appointment.slot[1]'],
    ],
    [
      'a slot elsewhere',
      appointment({ slot: [{ reference: 'https://other.example/Slot/nine' }] }),
      ['malformed-request Appointment.slot[0]'],
    ],
    [
      'a slot without reference',
      appointment({ slot: [{ display: 'nine' }] }),
      ['malformed-request Appointment.slot[0]'],
    ],
    [
      'a schedule elsewhere',
      parameters(resourceParameter('appt-resource', appointment()), {
        name: 'schedule',
        valueReference: { reference: 'https://other.example/Schedule/1' },
      }),
      ['malformed-request Parameters.parameter[1].valueReference'],
    ],
    [
      'a schedule whose reference is no text',
      parameters(resourceParameter('appt-resource', appointment()), {
        name: 'schedule',
        valueReference: { reference: 7 },
      }),
      ['malformed-request Parameters.parameter[1].valueReference.reference'],
    ],
  ])('%s is refused', (_, body, issues) => {
    expect(issuesOf(plan(body))).toEqual(issues);
  });

  it.each([
    ['Slot/nine'],
    ['nine'],
    ['Slot/nine/_history/1'],
    [`${config.baseUrl}/Slot/nine`],
    [`${config.baseUrl}/Slot/nine/_history/1`],
  ])('names a slot as %s', (reference) => {
    const result = plan(appointment({ slot: [{ reference }] }));
    expect(written(result, 'Appointment')[0]?.slot).toEqual([{ reference: 'Slot/nine' }]);
  });

  it('is the same as bare Appointment and in Parameters under both names', () => {
    const bare = plan(appointment());
    expect(bare.kind).toBe('write');
    expect(plan(parameters(resourceParameter('appt-resource', appointment())))).toEqual(bare);
    expect(plan(parameters(resourceParameter('appointment', appointment())))).toEqual(bare);
  });

  it('gives paths from the root of what was sent', () => {
    const body = parameters(resourceParameter('appt-resource', appointment({ start: at('10:00') })));
    expect(issuesOf(plan(body))).toEqual(['period-invalid Parameters.parameter[0].resource.end']);
  });

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

describe('a request to hold a time', () => {
  const { participant: _, ...anonymous } = appointment();
  const replacing = parameters(resourceParameter('appt-resource', appointment()), {
    name: 'cancelled-appt-id',
    valueReference: { reference: 'Appointment/a1' },
  });
  const related = resourceParameter('related-person', { resourceType: 'RelatedPerson', patient: {} });
  const issues = (body: unknown, purpose: 'book' | 'hold') => told(parseBookRequest(body, config, purpose).issues);

  it('needs no patient, unlike a booking', () => {
    expect(issues(anonymous, 'hold')).toEqual([]);
    expect(issues(anonymous, 'book')).not.toEqual([]);
  });

  it('replaces no appointment, unlike a booking', () => {
    expect(issues(replacing, 'hold')).toEqual(['parameter-unknown Parameters.parameter[1].valueReference']);
    expect(parseBookRequest(replacing, config, 'hold').request?.replaced).toBeUndefined();
    expect(parseBookRequest(replacing, config, 'book').request?.replaced?.value).toBe('a1');
  });

  it('with a related person names the patient for whom the person acts', () => {
    const hold = (body: object) => issues(parameters(resourceParameter('appt-resource', body), related), 'hold');
    expect(hold(anonymous)).toEqual(['patient-missing Parameters.parameter[1].resource']);
    expect(hold(appointment())).toEqual([]);
  });
});
