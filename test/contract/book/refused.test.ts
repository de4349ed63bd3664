import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, appointmentsOn, aSlot, book, minutes, once, parameters, proposed, slotsOf } from '../fixtures.ts';
import { isActionable, issuesOf } from '../http.ts';
import { config } from '../installation.ts';

/** A clinic in which nothing is booked: every request of this file is refused. */
const untouched = once(() => aClinic());

describe('malformed', () => {
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
      const { schedule, slot, patient } = await untouched();
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
      const { schedule, slot, patient } = await untouched();
      const answer = await book({ ...proposed(patient, [slot]), status: 'booked', ...more }, 'portal-a', headers);
      expect(answer.status).toBe(400);
      expect(issuesOf(answer)).toEqual(expect.arrayContaining(issues));
      expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    });

    it.each(['\u0000', 'a\u0000b'])('a string with the character U+0000: 400', async (value) => {
      const { schedule, slot, patient } = await untouched();
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
    const { schedule, slot, patient } = await untouched();
    const body = proposed(patient, [slot]);
    const participant = body.participant.map((one) => ({ ...one, [name]: value }));
    const answer = await book({ ...body, participant });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, `profile-violation Appointment.participant[0].${name}`]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('a patient handed over with a code that FHIR does not have: 422', async () => {
    const { schedule, slot } = await untouched();
    const patient = { resourceType: 'Patient' as const, id: 'new', name: [{ family: 'Neu' }], gender: 'divers' };
    const answer = await book(parameters(proposed({ ...patient, gender: 'other' }, [slot]), ['patient', patient]));
    expect([answer.status, issuesOf(answer)]).toEqual([
      422,
      ['profile-violation Parameters.parameter[1].resource.gender'],
    ]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });
});

describe('rules', () => {
  type Change = Partial<Appointment>;

  describe('a rule is broken: 422 and nothing written', () => {
    it.each<[string, Change, string[]]>([
      ['status is not proposed', { status: 'booked' }, ['status-not-proposed Appointment.status']],
      ['start equals end', { end: minutes(0) }, ['period-invalid Appointment.end']],
      ['end before start', { end: minutes(-30) }, ['period-invalid Appointment.end']],
      [
        'start in the past',
        { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' },
        ['start-in-past Appointment.start', 'slot-mismatch Appointment.slot[0]', 'slot-mismatch Appointment.slot'],
      ],
      [
        'the slot does not exist',
        { slot: [{ reference: `Slot/${randomUUID()}` }] },
        ['slot-not-found Appointment.slot[0]'],
      ],
      ['the slot is too short', { end: minutes(31) }, ['slot-mismatch Appointment.slot']],
      [
        'the service is not offered',
        { serviceType: [{ coding: [{ system: 'urn:other', code: 'haircut' }] }] },
        ['service-type-not-offered Appointment.serviceType[0]'],
      ],
      [
        'the patient does not exist',
        { participant: [{ actor: { reference: `Patient/${randomUUID()}` }, status: 'accepted' }] },
        ['patient-not-found Appointment.participant[0].actor'],
      ],
      [
        'it does not conform to LocalTermin',
        { specialty: [{ coding: [{ code: 'no-system' }] }] },
        ['profile-violation Appointment.specialty[0].coding[0]'],
      ],
      [
        'several things at once',
        { status: 'booked', end: minutes(31), specialty: [{ text: 'Radiology' }] },
        [
          'status-not-proposed Appointment.status',
          'profile-violation Appointment.specialty[0].coding',
          'slot-mismatch Appointment.slot',
        ],
      ],
    ])('%s', async (_, change, issues) => {
      const { schedule, slot, patient } = await untouched();
      const answer = await book({ ...proposed(patient, [slot]), ...change });
      expect(answer.status).toBe(422);
      expect(issuesOf(answer)).toEqual(issues);
      expect(isActionable(answer)).toBe(true);
      expect(await slotsOf(schedule)).toEqual(['free 0-30']);
      expect(await appointmentsOn(slot)).toEqual([]);
    });

    it('the schedule is not active', async () => {
      const { slot, patient } = await aClinic({ active: false });
      const answer = await book(proposed(patient, [slot]));
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'schedule-inactive Appointment.slot[0]']);
    });

    it.each([
      ['leave a gap', 60, 90, 'slot-mismatch Appointment.slot'],
      ['overlap', 15, 45, 'slot-mismatch Appointment.slot[1]'],
      ['only touch its time', 30, 60, 'slot-mismatch Appointment.slot[1]'],
    ])('the slots %s', async (_, from, to, issue) => {
      const { schedule, slot, patient } = await aClinic();
      const other = await aSlot(schedule, from, to);
      const answer = await book(proposed(patient, [slot, other], { to: issue.endsWith('[1]') ? 30 : to }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, issue]);
      expect(await slotsOf(schedule)).toEqual(['free 0-30', `free ${from}-${to}`]);
    });

    it('the slot is of another schedule than the one that is named', async () => {
      const { slot, patient } = await untouched();
      const { schedule: other } = await aClinic();
      const parameter = [
        { name: 'appt-resource', resource: proposed(patient, [slot]) },
        { name: 'schedule', valueReference: { reference: `Schedule/${other.id}` } },
      ];
      const answer = await book({ resourceType: 'Parameters', parameter });
      expect([answer.status, ...issuesOf(answer)]).toEqual([
        422,
        'slot-mismatch Parameters.parameter[0].resource.slot[0]',
      ]);
    });

    it('a participant has no actor', async () => {
      const { slot, patient } = await untouched();
      const body = proposed(patient, [slot]);
      const participant = [...body.participant, { status: 'accepted' as const }];
      const answer = await book({ ...body, participant });
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Appointment.participant[1].actor']);
    });

    it('the priority extension is empty', async () => {
      const { slot, patient } = await untouched();
      const priority = { extension: [{ url: artefactUri(config, 'LocalTerminPriorityExtension') }] };
      const answer = await book({ ...proposed(patient, [slot]), _priority: priority });
      expect([answer.status, ...issuesOf(answer)]).toEqual([
        422,
        'profile-violation Appointment.priority.extension[0].value',
      ]);
    });
  });
});

it('all problems come back in one answer, under the status of the gravest: 400 before 422 before 409', async () => {
  const { slot, patient } = await aClinic({}, { status: 'busy' });
  const { start: _, ...withoutStart } = proposed(patient, [slot]);
  const conflict = await book(proposed(patient, [slot]));
  const rule = await book(proposed(patient, [slot], { status: 'booked' }));
  const malformed = await book({ ...withoutStart, status: 'booked' });
  expect([conflict.status, ...issuesOf(conflict)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  expect([rule.status, ...issuesOf(rule)]).toEqual([
    422,
    'status-not-proposed Appointment.status',
    'slot-not-free Appointment.slot[0]',
  ]);
  expect(malformed.status).toBe(400);
  expect(issuesOf(malformed)).toEqual(
    expect.arrayContaining(['element-missing Appointment.start', 'status-not-proposed Appointment.status']),
  );
});

it('an element that is unknown or of the wrong type hides no other problem', async () => {
  const { slot, patient } = await aClinic({}, { status: 'busy' });
  const sent = { ...proposed(patient, [slot], { status: 'booked' }), comment: 7, mood: 'good' };
  const answer = await book(sent);
  expect([answer.status, ...issuesOf(answer)]).toEqual([
    400,
    'malformed-request Appointment.comment',
    'malformed-request Appointment.mood',
    'status-not-proposed Appointment.status',
    'slot-not-free Appointment.slot[0]',
  ]);
});

it('a reversed time is past, too', async () => {
  const { slot, patient } = await untouched();
  const times = { start: '2020-01-01T10:00:00Z', end: '2020-01-01T09:00:00Z' };
  const answer = await book(proposed(patient, [slot], times));
  expect([answer.status, ...issuesOf(answer)]).toEqual([
    422,
    'period-invalid Appointment.end',
    'start-in-past Appointment.start',
  ]);
});

it('what is no resource at all is an error of the body', async () => {
  for (const body of ['{"resourceType":', '[]', '"Appointment"', '']) {
    const answer = await book(body);
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.body']);
  }
});
