import { describe, expect, test } from '@jest/globals';
import type { Appointment, QuestionnaireResponse, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { nameOf } from '../../../core/fhir/resource.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { answersOf } from '../appointment/answers.ts';
import { bookingRequest, lengthWithin, moveRequest, servicesOffered } from '../appointment/booking.ts';
import { historyOf } from '../appointment/history.ts';
import { isMeant, patientQueries, widerQuery } from '../appointment/patient-query.ts';
import { contactOf, patientNameOf } from '../appointment/people.ts';
import { canCancel, cancelled, stepsOf } from '../appointment/status-steps.ts';
import { refusalKindOf, refusalOf } from '../fhir/refusal.ts';

const config = loadConfig();
const slot: Slot = {
  resourceType: 'Slot',
  id: '1',
  schedule: { reference: 'Schedule/s' },
  status: 'free',
  start: '2027-01-11T08:00:00Z',
  end: '2027-01-11T08:30:00Z',
};
const start = Date.parse('2027-01-11T08:00:00Z');
const booked: Appointment = {
  resourceType: 'Appointment',
  id: 'a',
  status: 'booked',
  participant: [{ actor: { reference: 'Patient/p', display: 'Kim Muster' }, status: 'accepted' }],
};

const words = { yes: 'Ja', no: 'Nein' };

describe('answers', () => {
  test('are read in their order, of every type, without their markup', () => {
    const response: QuestionnaireResponse = {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      item: [
        { linkId: '1', text: 'Allergies', answer: [{ valueString: '<b>none</b>' }] },
        {
          linkId: '2',
          text: 'Group',
          item: [{ linkId: '2.1', text: 'Weight', answer: [{ valueQuantity: { value: 70, unit: 'kg' } }] }],
        },
        {
          linkId: '3',
          answer: [{ valueCoding: { code: 'w', display: 'Weeks' } }, { valueBoolean: true }, { valueBoolean: false }],
        },
      ],
    };
    expect(answersOf(response, words)).toEqual([
      { question: 'Allergies', answers: ['<b>none</b>'], level: 0 },
      { question: 'Group', answers: [], level: 0 },
      { question: 'Weight', answers: ['70 kg'], level: 1 },
      { question: '3', answers: ['Weeks', 'Ja', 'Nein'], level: 0 },
    ]);
  });
  test.each([[{ item: [null] }], [{ item: 'x' }], [{ item: [{ answer: [null, {}, { valueAttachment: {} }] }] }]])(
    '%p stops nothing',
    (broken) => {
      expect(() =>
        answersOf(
          Object.assign({ resourceType: 'QuestionnaireResponse', status: 'completed' } as const, broken as object),
          words,
        ),
      ).not.toThrow();
    },
  );
});

describe('requests to $book', () => {
  const wanted = { slot, start, end: start + 1_800_000 };
  test('by telephone name the slot, and make a new patient', () => {
    const who = { given: 'Kim  Robin', family: 'Neu', birthDate: '', phone: '030 1', email: '' };
    expect(bookingRequest(wanted, who, { coding: [{ code: 'ct' }] }, '', 'u', config)).toEqual({
      resourceType: 'Parameters',
      parameter: [
        {
          name: 'appt-resource',
          resource: {
            resourceType: 'Appointment',
            status: 'proposed',
            identifier: [{ system: 'urn:ietf:rfc:3986', value: 'urn:uuid:u' }],
            extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }],
            start: '2027-01-11T08:00:00.000Z',
            end: '2027-01-11T08:30:00.000Z',
            slot: [{ reference: 'Slot/1' }],
            serviceType: [{ coding: [{ code: 'ct' }] }],
            participant: [{ actor: { reference: '#patient', display: 'Kim  Robin Neu' }, status: 'accepted' }],
          },
        },
        {
          name: 'patient',
          resource: {
            resourceType: 'Patient',
            id: 'patient',
            active: true,
            name: [{ family: 'Neu', given: ['Kim', 'Robin'] }],
            telecom: [{ system: 'phone', value: '030 1' }],
          },
        },
      ],
    });
  });
  test('that are longer than the slot name its Schedule, so that the service finds slots', () => {
    const longer = moveRequest(booked, 'Kim Muster', { ...wanted, end: start + 3_600_000 });
    expect(longer.parameter?.[1]).toEqual({ name: 'schedule', valueReference: { reference: 'Schedule/s' } });
    expect(longer.parameter?.[0]?.resource).toMatchObject({
      id: 'a',
      status: 'proposed',
      participant: booked.participant,
    });
    expect(longer.parameter?.[0]?.resource).not.toHaveProperty('slot');
  });
  test('are as long as the slot, but an hour of a long one, or as what is moved', () => {
    const half = 1_800_000;
    expect([
      lengthWithin({ start: 0, end: half }, undefined),
      lengthWithin({ start: 0, end: 9 * half }, undefined),
    ]).toEqual([half, 2 * half]);
    expect(lengthWithin({ start: 0, end: half }, { start: 5, end: 15 })).toBe(10);
  });
});

describe('what staff may do', () => {
  const [before, during] = [start - 86_400_000, start + 60_000];
  test.each([
    ['pending', before, ['booked'], true],
    ['booked', before, [], true],
    ['booked', start - 60_000, ['arrived'], true],
    ['booked', during, ['arrived', 'noshow'], true],
    ['arrived', during, ['checked-in', 'fulfilled', 'noshow', 'booked'], false],
    ['cancelled', during, [], false],
  ] as const)('with %s at %i: %p', (status, now, steps, isCancellable) => {
    const one = { ...booked, status, start: slot.start };
    expect(stepsOf(one, now, 'Europe/Berlin')).toEqual(steps);
    expect(canCancel(one)).toBe(isCancellable);
  });
  test('a booking is for a service of its Slot, else of its calendar; what only programs can read is left out', () => {
    const named = { coding: [{ code: 'ct', display: 'CT' }], extension: [{ url: 'urn:x' }] };
    const schedule: Schedule = { resourceType: 'Schedule', actor: [], serviceType: [named, { extension: [] }] };
    expect(servicesOffered(slot, schedule)).toEqual([{ coding: named.coding }]);
    expect(servicesOffered({ ...slot, serviceType: [{ coding: [{ code: 'mr' }] }] }, schedule)).toEqual([
      { coding: [{ code: 'mr' }] },
    ]);
  });
  test('a cancellation says that it is the clinic’s, and its reason if there is one', () => {
    expect(cancelled(booked, ' Ill ').cancelationReason).toMatchObject({ coding: [{ code: 'prov' }], text: 'Ill' });
    expect(cancelled(booked, ' ').cancelationReason).not.toHaveProperty('text');
  });
});

test('the history tells who did what', () => {
  const version = (versionId: string, author: string, more: Partial<Appointment>): Appointment => ({
    ...booked,
    ...more,
    meta: { versionId, lastUpdated: '2027-01-01T10:00:00Z', author: { reference: author } },
  });
  const versions = [
    version('4', 'Practitioner/m', { status: 'booked', start: slot.end, comment: 'x' }),
    version('3', 'Practitioner/m', { status: 'booked', start: slot.end }),
    version('2', 'Practitioner/m', { status: 'booked' }),
    version('1', 'Bot/b', { status: 'pending' }),
  ];
  expect(historyOf(versions, config).map(({ what, by }) => [what, by])).toEqual([
    ['changed', 'm'],
    ['moved', 'm'],
    ['status', 'm'],
    ['made', 'b'],
  ]);
});

test('names come from the record, then from the appointment, and may be missing', () => {
  expect(
    nameOf({
      name: [
        { family: 'Old', use: 'old' },
        { family: 'Muster', given: ['Kim'], use: 'official' },
      ],
    }),
  ).toBe('Kim Muster');
  expect(patientNameOf(booked, new Map())).toBe('Kim Muster');
  expect(patientNameOf({ ...booked, participant: [] }, new Map())).toBe('');
});

test('whoever is to be called is called by no old number', () => {
  const numbers = [
    { system: 'phone', use: 'old', value: '030 1' } as const,
    { system: 'phone', value: '030 2' } as const,
  ];
  expect(contactOf({ telecom: numbers }, 'phone')).toBe('030 2');
});

test.each([
  ['Kim 17.05.1990', 'name&birthdate=1990-05-17'],
  ['Kim, 1.5.49', 'name&birthdate=1949-05-01'],
  ['1/5/05', 'birthdate=2005-05-01,1905-05-01'],
  ['1990-05-17', 'birthdate=1990-05-17'],
  ['14 06 1979', 'birthdate=1979-06-14 | phone:contains&phone:contains'],
  ['14061979', 'birthdate=1979-06-14 | phone:contains&phone:contains'],
  ['140679', 'birthdate=1979-06-14 | phone:contains'],
  ['1979', 'birthdate=ge1979-01-01&birthdate=le1979-12-31 | phone:contains'],
  ['Kim 1979', 'name&birthdate=ge1979-01-01&birthdate=le1979-12-31'],
  ['kim@example.org', 'email:contains=kim@example.org'],
  ['Kim 31.02.1990', 'name&name'],
  ['030 123', 'phone:contains'],
  ['4711', 'phone:contains'],
  ['  ', ''],
])('%p finds patients by %p', (text, query) => {
  const said = patientQueries(text, 2027).map((parts) =>
    parts.map(([name, value]) => (/name|phone/.test(name) ? name : `${name}=${value}`)).join('&'),
  );
  expect(said.join(' | ')).toBe(query);
});

test.each(['030 123-4567', '0301234567', '+49 30 1234567', '0049 (30) 1234567', '1234567', '4567', '123-4567'])(
  'the telephone number %p is found however it is stored',
  (text) => {
    const queries = patientQueries(text, 2027).filter((parts) => parts.every(([name]) => name === 'phone:contains'));
    for (const stored of ['+49301234567', '+49 30 1234567', '030/123 45 67', '030 12-34 567', '1234567']) {
      const found = queries.some((parts) =>
        parts.every(([, values]) => values.split(',').some((one) => stored.includes(one))),
      );
      expect([stored, found]).toEqual([stored, true]);
    }
  },
);

test.each([
  'Müller',
  'Mueller',
  'Muller',
  'Yılmaz',
  'Şahin',
  'Gülşah',
  'Çağla',
  'Özgür',
  'Öztürk',
  'Yıldırım',
  'İnan',
  'Lefèvre',
  'Hélène',
  'Sørensen',
  'Åse',
  'Łukasz',
  'Dvořák',
  'Nováková',
  'Šarić',
  'Đorđe',
  'Peña',
  'João',
  'Groß',
  'Æsa',
])('%s is found without its marks', (name) => {
  const marks = { ı: 'i', ø: 'o', ł: 'l', đ: 'd', ß: 'ss', æ: 'ae' };
  const typed = name
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[ıøłđßæ]/g, (letter) => Reflect.get(marks, letter));
  const begins = (values: string | undefined) =>
    (values ?? '').split(',').some((one) => name.toLowerCase().startsWith(one.toLowerCase()));
  const [[[, usual] = []] = []] = patientQueries(typed, 2027);
  const [[, wide] = []] = widerQuery(typed, 2027) ?? [];
  expect(begins(usual) || begins(wide)).toBe(true);
  expect(isMeant({ resourceType: 'Patient', name: [{ family: name, given: ['Kim'] }] }, `kim ${typed}`)).toBe(true);
  expect(usual?.split(',').length).toBeLessThan(65);
});

test.each([
  [409, 'slot-not-free', 'taken'],
  [400, 'schedule-overbooked', 'taken'],
  [412, undefined, 'changed'],
  [403, undefined, 'forbidden'],
  [0, undefined, 'unreachable'],
  [503, undefined, 'unreachable'],
  [422, 'too-soon', 'refused'],
])('%i %p is %s', (status, code, kind) => {
  const body = { resourceType: 'OperationOutcome', issue: [{ details: { coding: [{ code }] }, diagnostics: 'Why' }] };
  const refusal = refusalOf(status, body, '');
  expect([refusalKindOf(refusal), refusal.sentences]).toEqual([kind, ['Why']]);
});
