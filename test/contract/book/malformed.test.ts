import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { aClinic, book, parameters, proposed, slotsOf } from '../fixtures.ts';
import { isActionable, issuesOf } from '../http.ts';

type Change = (appointment: Appointment) => unknown;

const without =
  (name: keyof Appointment): Change =>
  ({ [name]: _, ...rest }) =>
    rest;

describe('malformed, wrong resource, or a required element missing: 400 and nothing written', () => {
  it.each<[string, Change, string[]]>([
    ['another resource', () => ({ resourceType: 'Patient' }), ['malformed-request http.body']],
    ['an unknown parameter', (a) => parameters(a, ['colour', a]), ['parameter-unknown Parameters.parameter[1].name']],
    ['no status', without('status'), ['element-missing Appointment.status']],
    ['no start', without('start'), ['element-missing Appointment.start']],
    ['no end', without('end'), ['element-missing Appointment.end']],
    ['no participant', without('participant'), ['element-missing Appointment.participant']],
    ['neither slot nor schedule', without('slot'), ['slot-or-schedule-missing Appointment.slot']],
    [
      'nobody who is a patient',
      (a) => ({ ...a, participant: [{ actor: { reference: 'Practitioner/p' }, status: 'accepted' }] }),
      ['patient-missing Appointment.participant'],
    ],
    ['30 February', (a) => ({ ...a, start: '2031-02-30T08:00:00Z' }), ['malformed-request Appointment.start']],
    ['no offset', (a) => ({ ...a, start: '2031-01-06T08:00:00' }), ['malformed-request Appointment.start']],
    ['a leap second', (a) => ({ ...a, end: '2031-06-30T23:59:60Z' }), ['malformed-request Appointment.end']],
    [
      'a slot named twice',
      (a) => ({ ...a, slot: [...(a.slot ?? []), ...(a.slot ?? [])] }),
      ['malformed-request Appointment.slot[1]'],
    ],
    ['a list that is none', (a) => ({ ...a, slot: a.slot?.[0] }), ['malformed-request Appointment.slot']],
    [
      'Parameters without parameters',
      () => ({ resourceType: 'Parameters' }),
      ['malformed-request Parameters.parameter'],
    ],
    [
      'a name that every object has',
      (a) => parameters(a, ['constructor', a]),
      ['parameter-unknown Parameters.parameter[1].name'],
    ],
    [
      'two appointments',
      (a) => parameters(a, ['appointment', a]),
      ['malformed-request Parameters.parameter[1].resource'],
    ],
    ['an empty list', (a) => ({ ...a, slot: [] }), ['malformed-request Appointment.slot']],
    ['null in a list', (a) => ({ ...a, participant: [null] }), ['malformed-request Appointment.participant[0]']],
    [
      'a participant without a status',
      (a) => ({ ...a, participant: a.participant.map(({ actor }) => ({ actor })) }),
      ['element-missing Appointment.participant[0].status'],
    ],
    ...['https://other.example/Patient/1', 'Patient?identifier=1', 'Patient/../Bot'].map(
      (reference): [string, Change, string[]] => [
        `a participant who is ${reference}`,
        (a) => ({ ...a, participant: [{ actor: { reference }, status: 'accepted' }] }),
        ['malformed-request Appointment.participant[0].actor'],
      ],
    ),
    [
      'a slot without a reference',
      (a) => ({ ...a, slot: [{ display: 'nine' }] }),
      ['malformed-request Appointment.slot[0]'],
    ],
    ['no FHIR element', (a) => ({ ...a, colour: 'blue' }), ['malformed-request Appointment.colour']],
    ['no FHIR value', (a) => ({ ...a, minutesDuration: 'ten' }), ['malformed-request Appointment.minutesDuration']],
  ])('%s', async (_, change, issues) => {
    const { schedule, slot, patient } = await aClinic();
    const answer = await book(change(proposed(patient, [slot])));
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(issues);
    expect(isActionable(answer)).toBe(true);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });
});

describe.each<[string, Record<string, string>]>([
  ['at once', {}],
  ['asynchronously', { prefer: 'respond-async' }],
])('refused %s', (_, headers) => {
  it('an empty appointment: 400 with everything that is missing', async () => {
    const answer = await book({ resourceType: 'Appointment', status: 'proposed' }, 'portal-a', headers);
    expect([answer.status, ...issuesOf(answer).sort()]).toEqual([
      400,
      'element-missing Appointment.end',
      'element-missing Appointment.participant',
      'element-missing Appointment.start',
      'slot-or-schedule-missing Appointment.slot',
    ]);
  });

  it.each<[string, object, string[]]>([
    ['an element that FHIR does not have', { colour: 'blue' }, ['malformed-request Appointment.colour']],
    ['a value of another type', { description: 5 }, ['malformed-request Appointment.description']],
  ])('%s, and more that is wrong: 400, the gravest class', async (__, more, issues) => {
    const { schedule, slot, patient } = await aClinic();
    const answer = await book({ ...proposed(patient, [slot]), status: 'booked', ...more }, 'portal-a', headers);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(expect.arrayContaining(issues));
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it.each(['\u0000', 'a\u0000b'])('a string with the character U+0000: 400', async (value) => {
    const { schedule, slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: [{ system: 'urn:portal', value }] });
    const answer = await book(body, 'portal-a', headers);
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.body']);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });
});

it.each([
  ['status', 'nonsense'],
  ['required', 'perhaps'],
])('a participant whose %s is no code of FHIR: 422', async (name, value) => {
  const { schedule, slot, patient } = await aClinic();
  const body = proposed(patient, [slot]);
  const participant = body.participant.map((one) => ({ ...one, [name]: value }));
  const answer = await book({ ...body, participant });
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, `profile-violation Appointment.participant[0].${name}`]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it('a patient handed over with a code that FHIR does not have: 422', async () => {
  const { schedule, slot } = await aClinic();
  const patient = { resourceType: 'Patient' as const, id: 'new', name: [{ family: 'Neu' }], gender: 'divers' };
  const answer = await book(parameters(proposed({ ...patient, gender: 'other' }, [slot]), ['patient', patient]));
  expect([answer.status, issuesOf(answer)]).toEqual([
    422,
    ['profile-violation Parameters.parameter[1].resource.gender'],
  ]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
