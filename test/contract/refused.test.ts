/** What the service refuses of one caller: a row for each request, with its status, its issues, and nothing written. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { REPLACES } from '../../core/fhir/tags.ts';
import {
  aClinic,
  answers,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  minutes,
  once,
  onSchedule,
  parameters,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { type Answer, isActionable, issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { base, config } from './installation.ts';
import { fhirPathPatch, patch, read, replacing } from './patch/fixtures.ts';

/** `.x` is an element of the Appointment, `1.x` one of the resource in the second parameter. */
const inFull = (issue: string): string =>
  issue.replace(/ (\d)\./, ' Parameters.parameter[$1].resource.').replace(/ \./, ' Appointment.');

const many = <T>(count: number, entry: T): T[] => Array.from({ length: count }, () => entry);
const xhtml = (inner: string) => ({
  status: 'additional',
  div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
});

/** Names that every JavaScript object has, narratives that are no text, and instants that no clock shows. */
const inherited = ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'toLocaleString'];
const noTexts = [xhtml('<img src="#x" onerror="alert(1)"/>'), { status: 'additional', div: '<'.repeat(30_000) }];
const [late, early] = ['9999-12-31T23:59:59-05:00', '0001-01-01T00:30:00+01:00'];

/** A clinic in which nothing is booked, and whom and what it knows besides: every request to it is refused. */
const untouched = once(async () => {
  const { schedule, slot, patient } = await aClinic();
  const known = (more: Partial<Patient>) => aPatient().then((one) => put({ ...one, ...more }));
  const put = async (body: Patient) =>
    succeeded('Patient', await medplum('admin', 'PUT', `/Patient/${body.id}`, { body }));
  const [gap, next, overlapping, busy] = [
    await aSlot(schedule, 60, 90),
    await aSlot(schedule, 30, 60),
    await aSlot(schedule, 15, 45),
    await aSlot(schedule, 120, 150, { status: 'busy' }),
  ];
  const closed = await aSlot(await aSchedule({ active: false }), 0, 30);
  const [gone, twice] = [await aPatient(), await aPatient()];
  await medplum('admin', 'DELETE', `/Patient/${gone.id}`);
  await aPatient('portal-a', { identifier: twice.identifier ?? [] });
  return {
    ...{ schedule, slot, patient, gap, next, overlapping, busy, closed, gone, twice },
    inactive: await known({ active: false }),
    merged: await known({ link: [{ type: 'replaced-by', other: { display: 'the survivor' } }] }),
    foreign: await aPatient('portal-b'),
    elsewhere: await aSchedule(),
    before: await slotsOf(schedule),
  };
});

type Known = Awaited<ReturnType<typeof untouched>>;
type Change = (appointment: Appointment, known: Known) => unknown;

const but =
  (more: object): Change =>
  (appointment) => ({ ...appointment, ...more });
const of =
  (who: (known: Known) => Patient): Change =>
  (a, known) => ({ ...a, ...proposed(who(known), [known.slot]) });

/** The patient is handed over, and nobody else takes part. */
const handing =
  (patient: object): Change =>
  (a) =>
    parameters({ ...a, participant: undefined }, ['patient', { resourceType: 'Patient', ...patient }]);

const answering =
  (more: object): Change =>
  (a) =>
    parameters(a, ['patientSubmittedInformation', { ...answers, ...more }]);
const actor = (reference: string): Change => but({ participant: [{ actor: { reference }, status: 'accepted' }] });
const participant =
  (more: object): Change =>
  (a) => ({ ...a, participant: [{ ...a.participant[0], ...more }] });

const url = artefactUri(config, 'LocalTerminPriorityExtension');
const urgent = { url, valueCodeableConcept: { coding: [{ system: config.terminologySystem, code: '103391001' }] } };
const priority = (...extension: object[]): Change => but({ _priority: { extension } });
const many5000 = many(5_000, { url: 'urn:x', valueString: 'x' });
const longest = [{ system: 'urn:x', value: 'ü'.repeat(10_000) }];

type Row = readonly [what: string, change: Change, status: number, ...issues: string[]];

// biome-ignore format: a row a line
const bookings: readonly Row[] = [
  ['another resource', () => ({ resourceType: 'Patient' }), 400, 'malformed-request http.body'],
  ['half a body', () => '{"resourceType":', 400, 'malformed-request http.body'],
  ['a list as body', () => '[]', 400, 'malformed-request http.body'],
  ['no body', () => '', 400, 'malformed-request http.body'],
  ['an unknown parameter', (a) => parameters(a, ['colour', a]), 400, 'parameter-unknown Parameters.parameter[1].name'],
  ['a name of every object', (a) => parameters(a, ['constructor', a]), 400, 'parameter-unknown Parameters.parameter[1].name'],
  ['no parameters', () => ({ resourceType: 'Parameters' }), 400, 'malformed-request Parameters.parameter'],
  ['no status', but({ status: undefined }), 400, 'element-missing .status'],
  ['no start', but({ start: undefined }), 400, 'element-missing .start'],
  ['no end', but({ end: undefined }), 400, 'element-missing .end'],
  ['no participant', but({ participant: undefined }), 400, 'element-missing .participant'],
  ['neither slot nor schedule', but({ slot: undefined }), 400, 'slot-or-schedule-missing .slot'],
  ['nobody who is a patient', actor('Practitioner/p'), 400, 'patient-missing .participant'],
  ['30 February', but({ start: '2031-02-30T08:00:00Z' }), 400, 'malformed-request .start'],
  ['no offset', but({ start: '2031-01-06T08:00:00' }), 400, 'malformed-request .start'],
  ['a leap second', but({ end: '2031-06-30T23:59:60Z' }), 400, 'malformed-request .end'],
  ['an end after the year 9999', but({ end: late }), 400, 'malformed-request .end'],
  ['a start before the year 1', but({ start: early }), 400, 'malformed-request .start'],
  ['a slot named twice', (a) => ({ ...a, slot: many(2, a.slot?.[0]) }), 400, 'malformed-request .slot[1]'],
  ['a list that is none', (a) => ({ ...a, slot: a.slot?.[0] }), 400, 'malformed-request .slot'],
  ['an empty list', but({ slot: [] }), 400, 'malformed-request .slot'],
  ['null in a list', but({ participant: [null] }), 400, 'malformed-request .participant[0]'],
  ['a participant without a status', participant({ status: undefined }), 400, 'element-missing .participant[0].status'],
  ["another server's participant", actor('https://other.example/Patient/1'), 400, 'malformed-request .participant[0].actor'],
  ['a participant who is a search', actor('Patient?identifier=1'), 400, 'malformed-request .participant[0].actor'],
  ['a participant whose path climbs', actor('Patient/../Bot'), 400, 'malformed-request .participant[0].actor'],
  ['a slot without a reference', but({ slot: [{ display: 'nine' }] }), 400, 'malformed-request .slot[0]'],
  ...[
    { reference: 'https://elsewhere.example/fhir/Slot/1' },
    { identifier: { system: 'urn:x', value: '1' } },
    ...['Slot?_id=1', 'Slot/../Slot/1', 'Slot%2F1'].map((reference) => ({ reference })),
  ].map((one): Row => [`a slot ${JSON.stringify(one)}`, but({ slot: [one] }), 400, 'malformed-request .slot[0]']),
  ['no FHIR element', but({ colour: 'blue' }), 400, 'malformed-request .colour'],
  ['no FHIR value', but({ minutesDuration: 'ten' }), 400, 'malformed-request .minutesDuration'],
  ['the character U+0000', but({ comment: 'a\u0000b' }), 400, 'malformed-request http.body'],
  ['implicitRules', but({ implicitRules: 'https://clinic.example/rules' }), 400, 'malformed-request .implicitRules'],
  ['an unknown modifier', but({ modifierExtension: [{ url: 'urn:not', valueBoolean: true }] }), 400, 'malformed-request .modifierExtension'],
  ...inherited.flatMap((name): Row[] => [
    [
      `an actor's ${name}`, (a) => ({ ...a, participant: [{ ...a.participant[0], actor: { ...a.participant[0]?.actor, [name]: {} } }] }), 400,
      `malformed-request .participant[0].actor.${name}`,
    ],
    [`a patient's ${name}`, handing({ [name]: 'x' }), 400, `malformed-request 1.${name}`],
  ]),
  // What is too much is refused before any work.
  ['51 slots', (a) => ({ ...a, slot: many(51, a.slot?.[0]) }), 400, 'malformed-request .slot'],
  ['20,000 slots that are none', but({ slot: many(20_000, 0) }), 400, 'malformed-request http.body'],
  ['51 participants', (a) => ({ ...a, participant: many(51, a.participant[0]) }), 400, 'malformed-request .participant'],
  ['a long identifier', but({ identifier: longest }), 400, 'malformed-request .identifier'],
  ['a patient with 51 identifiers', handing({ identifier: many(51, { value: 'x' }) }), 400, 'malformed-request 1.identifier'],
  ['a patient with a long identifier', handing({ identifier: longest }), 400, 'malformed-request 1.identifier'],
  // What LocalTermin does not allow.
  ['a service type without a system', (a) => ({ ...a, serviceType: [...(a.serviceType ?? []), { coding: [{ code: 'ct' }] }] }), 422, 'profile-violation .serviceType[1].coding[0]', 'service-type-not-offered .serviceType[1]'],
  ['a service type without a code', (a) => ({ ...a, serviceType: [...(a.serviceType ?? []), { coding: [{ system: 'urn:x' }] }] }), 422, 'profile-violation .serviceType[1].coding[0]', 'service-type-not-offered .serviceType[1]'],
  ['a specialty that is text only', but({ specialty: [{ text: 'Radiology' }] }), 422, 'profile-violation .specialty[0].coding'],
  ['a specialty without a system', but({ specialty: [{ coding: [{ code: 'x' }] }] }), 422, 'profile-violation .specialty[0].coding[0]'],
  ['two priorities', priority(urgent, urgent), 422, 'profile-violation .priority.extension'],
  ['another extension', priority({ url: 'urn:other' }), 422, 'profile-violation .priority.extension'],
  ['a priority without a value', priority({ url }), 422, 'profile-violation .priority.extension[0].value'],
  ['a priority without a system', priority({ url, valueCodeableConcept: { coding: [{ code: '1' }] } }), 422, 'profile-violation .priority.extension[0].value.coding[0]'],
  ['a priority that is text only', priority({ url, valueCodeableConcept: { text: 'urgent' } }), 422, 'profile-violation .priority.extension[0].value.coding'],
  ['a participant without an actor', (a) => ({ ...a, participant: [...a.participant, { status: 'accepted' }] }), 422, 'profile-violation .participant[1].actor'],
  ['no code of a participation', participant({ status: 'nonsense' }), 422, 'profile-violation .participant[0].status'],
  ['no code of being required', participant({ required: 'perhaps' }), 422, 'profile-violation .participant[0].required'],
  ['a patient of no gender of FHIR', handing({ gender: 'divers' }), 422, 'profile-violation 1.gender'],
  ['a patient merged into another', handing({ link: [{ type: 'replaces', other: { reference: 'Patient/1' } }] }), 422, 'profile-violation 1.link'],
  ...noTexts.map((text): Row => [`a narrative of ${text.div.length} characters`, but({ text }), 422, 'profile-violation .text.div']),
  ...noTexts.map((text): Row => [`a patient's narrative of ${text.div.length}`, handing({ text }), 422, 'profile-violation 1.text.div']),
  ['an active narrative of answers', answering({ text: noTexts[0] }), 422, 'profile-violation 1.text.div', 'answers-text-missing 1.text'],
  ['an endless narrative of answers', answering({ text: noTexts[1] }), 422, 'profile-violation 1.text.div'],
  // Time, slots and service.
  ['a status that is not proposed', but({ status: 'booked' }), 422, 'status-not-proposed .status'],
  ['a start that equals the end', but({ end: minutes(0) }), 422, 'period-invalid .end'],
  ['an end before the start', but({ end: minutes(-30) }), 422, 'period-invalid .end'],
  ['a reversed time in the past', but({ start: '2020-01-01T10:00:00Z', end: '2020-01-01T09:00:00Z' }), 422, 'period-invalid .end', 'start-in-past .start'],
  ['the past', but({ start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' }), 422, 'start-in-past .start', 'slot-mismatch .slot[0]', 'slot-mismatch .slot'],
  ['a minute of a slot', but({ end: minutes(1) }), 422, 'period-invalid .end'],
  ['a part between the steps of a slot', but({ start: minutes(3), end: minutes(15) }), 422, 'period-invalid .start'],
  ['an unknown slot', but({ slot: [{ reference: `Slot/${randomUUID()}` }] }), 422, 'slot-not-found .slot[0]'],
  ['a slot that is too short', but({ end: minutes(31) }), 422, 'slot-mismatch .slot'],
  ['slots that leave a gap', (a, { slot, gap }) => ({ ...a, ...slotsAt([slot.id, gap.id], 90) }), 422, 'slot-mismatch .slot'],
  ['slots that only touch the time', (a, { slot, next }) => ({ ...a, ...slotsAt([slot.id, next.id], 30) }), 422, 'slot-mismatch .slot[1]'],
  ['slots that overlap the time', (a, { slot, overlapping }) => ({ ...a, ...slotsAt([slot.id, overlapping.id], 30) }), 422, 'slot-mismatch .slot[1]'],
  ['a schedule that is closed', (a, { closed }) => ({ ...a, ...slotsAt([closed.id], 30) }), 422, 'schedule-inactive .slot[0]'],
  ['another schedule than that of the slot', (a, { elsewhere }) => onSchedule(elsewhere.id, a), 422, 'slot-mismatch Parameters.parameter[0].resource.slot[0]'],
  ['an unknown schedule', (a) => onSchedule(randomUUID(), { ...a, slot: undefined }), 422, 'schedule-not-found Parameters.parameter[1].valueReference'],
  ['a schedule without that time', (a, { elsewhere }) => onSchedule(elsewhere.id, { ...a, slot: undefined }), 409, 'slot-not-free Parameters.parameter[1].valueReference'],
  ['a service that is not offered', but({ serviceType: [{ coding: [{ system: 'urn:other', code: 'haircut' }] }] }), 422, 'service-type-not-offered .serviceType[0]'],
  ['a slot that is taken', (a, { busy }) => ({ ...a, start: minutes(120), ...slotsAt([busy.id], 150) }), 409, 'slot-not-free .slot[0]'],
  // Patients.
  ['an unknown patient', actor(`Patient/${randomUUID()}`), 422, 'patient-not-found .participant[0].actor'],
  ["another requestor's patient", of(({ foreign }) => foreign), 422, 'patient-not-found .participant[0].actor'],
  ['a deleted patient', of(({ gone }) => gone), 422, 'patient-not-found .participant[0].actor'],
  ['an inactive patient', of(({ inactive }) => inactive), 422, 'patient-inactive .participant[0].actor'],
  ['a merged patient', of(({ merged }) => merged), 422, 'patient-inactive .participant[0].actor'],
  ['an inactive patient handed over again', (a, { inactive }) => handing({ identifier: inactive.identifier })(a, never), 422, 'patient-inactive Parameters.parameter[1].resource'],
  ['a patient who may be two', (a, { twice }) => handing({ identifier: twice.identifier })(a, never), 422, 'patient-ambiguous 1.identifier'],
  [
    'another patient than the participant',
    (a) => parameters(a, ['patient', { resourceType: 'Patient', name: [{ family: 'X' }] }]),
    422,
    'patient-mismatch Parameters.parameter[0].resource.participant[0].actor',
  ],
  // Answers.
  ['answers without a text', answering({ text: undefined }), 422, 'answers-text-missing 1.text'],
  ['answers with a text without words', answering({ text: { status: 'generated', div: '' } }), 422, 'answers-text-missing 1.text'],
  ['answers with an empty text', answering({ text: {} }), 422, 'answers-text-missing 1.text'],
  ['answers without questions', answering({ item: undefined }), 422, 'answers-items-missing 1.item'],
  ['an item without its question', answering({ item: [{ linkId: '1', answer: [{ valueString: 'x' }] }] }), 422, 'answers-items-missing 1.item[0].text'],
  ['an item below another one without its question', answering({ item: [{ linkId: '1', text: 'A', item: [{ linkId: '2' }] }] }), 422, 'answers-items-missing 1.item[0].item[0].text'],
  [
    'an item below an answer without its question',
    answering({ item: [{ linkId: '1', text: 'A', answer: [{ valueString: 'x', item: [{ linkId: '2' }] }] }] }),
    422,
    'answers-items-missing 1.item[0].answer[0].item[0].text',
  ],
  ['21 answers', (a) => parameters(a, ...many(21, ['patientSubmittedInformation', answers] as const)), 400, 'malformed-request Parameters.parameter[21].resource'],
  // Every problem in one answer, under the status of the gravest.
  [
    'nothing but a status',
    () => ({ resourceType: 'Appointment', status: 'proposed' }),
    400,
    'element-missing .start',
    'element-missing .end',
    'element-missing .participant',
    'slot-or-schedule-missing .slot',
  ],
  [
    'several things at once',
    but({ status: 'booked', end: minutes(31), specialty: [{ text: 'x' }] }),
    422,
    'status-not-proposed .status',
    'profile-violation .specialty[0].coding',
    'slot-mismatch .slot',
  ],
  ['a rule beside a conflict', (a, { busy }) => ({ ...a, status: 'booked', start: minutes(120), ...slotsAt([busy.id], 150) }), 422, 'status-not-proposed .status', 'slot-not-free .slot[0]'],
  [
    'no FHIR beside rules and a conflict',
    (a, { busy }) => ({
      ...a,
      status: 'booked',
      comment: 7,
      mood: 'x',
      start: minutes(120),
      ...slotsAt([busy.id], 150),
    }),
    400,
    'malformed-request .comment',
    'malformed-request .mood',
    'status-not-proposed .status',
    'slot-not-free .slot[0]',
  ],
  [
    'no FHIR at any depth, beside the rules',
    but({
      extension: [{ url: 'urn:x', valueText: 'x' }],
      serviceType: [{ coding: [{ code: 'ct', systm: 'urn:x' }] }],
      minutesDuration: '30',
      status: 'booked',
    }),
    400,
    'malformed-request .extension[0].valueText',
    'malformed-request .minutesDuration',
    'malformed-request .serviceType[0].coding[0].systm',
    'profile-violation .serviceType[0].coding[0]',
    'service-type-not-offered .serviceType[0]', 'status-not-proposed .status',
  ],
];

const slotsAt = (ids: readonly (string | undefined)[], to: number) => ({
  slot: ids.map((id) => ({ reference: `Slot/${id}` })),
  end: minutes(to),
});

const never = {} as Known;

describe('$book', () => {
  it.each(bookings)('%s is refused', async (_, change, status, ...issues) => {
    const { before, schedule, slot, patient, ...known } = await untouched();
    const response = await book(change(proposed(patient, [slot]), { before, schedule, slot, patient, ...known }));
    expect([response.status, ...issuesOf(response).sort()]).toEqual([status, ...issues.map(inFull).sort()]);
    expect(isActionable(response)).toBe(true);
    expect([await slotsOf(schedule), await appointmentsOn(slot)]).toEqual([before, []]);
  });

  it.each<[string, object, string]>([
    ['what FHIR does not have', { colour: 'blue', status: 'booked' }, 'malformed-request Appointment.colour'],
    ['the character U+0000', { comment: '\u0000' }, 'malformed-request http.body'],
    ['nothing', { start: undefined, slot: undefined }, 'element-missing Appointment.start'],
  ])('asynchronously, %s is refused at once: 400', async (_, more, issue) => {
    const { slot, patient } = await untouched();
    const response = await book({ ...proposed(patient, [slot]), ...more }, 'portal-a', { prefer: 'respond-async' });
    expect([response.status, issuesOf(response)]).toEqual([400, expect.arrayContaining([issue])]);
  });

  it.each<[string, object]>([
    ['extensions', { extension: [{ url: 'urn:a', extension: many5000 }] }],
    ['extensions of a participant', { participant: [{ status: 'accepted', extension: many5000 }] }],
    ['codes', { serviceType: [{ coding: many5000 }] }],
    ['contained items', { contained: [{ resourceType: 'Questionnaire', id: 'q', item: many5000 }] }],
    ['a text that Medplum would be busy with', { comment: 'x'.repeat(300_000) }],
  ])('too many or too long for Medplum, at every door: %s', async (_, more) => {
    const { slot, patient } = await untouched();
    const body = { ...proposed(patient, [slot]), ...more };
    const responses = [
      await book(body),
      await book(body, 'portal-a', { prefer: 'respond-async' }),
      await request('portal-a', 'POST', '/Appointment/$hold', { body }),
      await medplum('portal-a', 'POST', `/Bot/$execute?identifier=${artefactUri(config, 'LocalBot')}|book`, { body }),
    ];
    for (const response of responses) {
      expect(refusalOf(response)).toEqual([400, expect.stringContaining('malformed-request')]);
    }
  });

  it('of very many problems the first fifty are told, and how many there are besides', async () => {
    const { slot, patient } = await untouched();
    for (const more of [
      { identifier: Array.from({ length: 50 }, (_, index) => ({ value: `${index}`, invented: 1, other: 2 })) },
      { serviceType: many(200, { coding: [{ code: 'x' }] }) },
    ]) {
      const { issue } = resourceIn('OperationOutcome', await book({ ...proposed(patient, [slot]), ...more }));
      expect([issue.length, issue.at(-1)?.diagnostics]).toEqual([50, expect.stringContaining('more problems')]);
    }
  });
});

/** An appointment that stays as it is: no patch of this file is applied to it. */
const unpatched = once(async () => {
  const { schedule, slot, patient } = await aClinic();
  const booked = succeeded('Appointment', await book(proposed(patient, [slot])));
  const [later, other] = [await aSlot(schedule, 60, 90), await aPatient()];
  return {
    id: booked.id ?? '',
    booked,
    slot: `Slot/${later.id}`,
    patient: `Patient/${patient.id}`,
    other: `Patient/${other.id}`,
  };
});

type Booked = Awaited<ReturnType<typeof unpatched>>;

const code = (value: string) => ({ valueCode: value });
const text = (value: string) => ({ valueString: value });
const number = (value: unknown) => ({ valueInteger: value });
const op = (type: string, path: string, more: Record<string, object> = {}) =>
  fhirPathPatch({ type: code(type), path: text(path), ...more });
const put = (path: string, value: object) => fhirPathPatch(replacing(path, value));
const add = (name: string, value: object) => op('add', 'Appointment', { name: text(name), value });
const json = (opName: string, path: string, value?: unknown) => [{ op: opName, path, value }];
const refer = (reference: string) => ({ valueReference: { reference } });
const who = 'Appointment.participant[0].actor';
const reference = 'Appointment.slot.first().reference';
const adding = (one: object) => json('add', '/participant/-', { actor: one, status: 'accepted' });
const system = artefactUri(config, 'LocalRequestor');

/** By expressions: what a patch changes that it must not. */
type Immutable = readonly [what: string, body: (known: Booked) => unknown, ...expressions: string[]];

// biome-ignore format: a row a line
const immutable: readonly Immutable[] = [
  ['replace start', () => put('Appointment.start', { valueInstant: minutes(5) }), '.start'],
  ['replace end', () => put('end', { valueInstant: minutes(25) }), '.end'],
  ['delete start', () => op('delete', 'Appointment.start'), '.start'],
  ['copy end over start', () => [{ op: 'copy', from: '/end', path: '/start' }], '.start'],
  ['replace a slot', ({ slot }) => put('Appointment.slot[0]', refer(slot)), '.slot'],
  ['replace the reference of a slot', ({ slot }) => put(reference, text(slot)), '.slot'],
  ['add a slot', ({ slot }) => add('slot', refer(slot)), '.slot'],
  ['insert a slot', ({ slot }) => op('insert', 'Appointment.slot', { index: number(0), value: refer(slot) }), '.slot'],
  ['delete the slot', () => op('delete', 'Appointment.slot[0]'), '.slot'],
  ['replace the patient', ({ other }) => put(who, refer(other)), '.participant[0].actor'],
  [
    'replace the patient, chosen by a condition',
    ({ patient, other }) =>
      put(`Appointment.participant.where(actor.reference = '${patient}').actor.reference`, text(other)),
    '.participant[0].actor',
  ],
  ['delete the actor', () => op('delete', who), '.participant[0].actor'],
  ['remove the actor', () => json('remove', '/participant/0/actor'), '.participant[0].actor'],
  ['a note on the start', () => json('add', '/_start', { extension: [{ url: 'urn:x', valueCode: 'x' }] }), '.start'],
  ['the patient once more', () => [{ op: 'copy', from: '/participant/0', path: '/participant/-' }], '.participant[1].actor'],
  ['a patient who is contained', () => [...json('add', '/contained', [{ resourceType: 'Patient', id: 'p' }]), ...adding({ reference: '#p' })], '.participant[1].actor'],
  ['a patient by type', () => adding({ type: 'Patient', identifier: { value: '1' } }), '.participant[1].actor'],
  ['who may be a patient', () => adding({ reference: `urn:uuid:${randomUUID()}` }), '.participant[1].actor'],
  ['a second patient', ({ other }) => adding({ reference: other }), '.participant[1].actor'],
  ['a patient in other letters', () => adding({ reference: 'PATIENT/1' }), '.participant[1].actor'],
  ["another server's patient", () => adding({ reference: 'https://elsewhere.example/fhir/PATIENT/1' }), '.participant[1].actor'],
  ['the patient by identifier only', () => put(who, { valueReference: { type: 'Patient', identifier: { value: '1' } } }), '.participant[0].actor'],
  ['a patient to be looked up', () => put(`${who}.reference`, text('Patient?identifier=1')), '.participant[0].actor'],
  ["the patient's display", () => json('add', '/participant/0/actor/display', 'Somebody else'), '.participant[0].actor'],
  ["the patient's identifier", () => json('add', '/participant/0/actor/identifier', { value: '1' }), '.participant[0].actor'],
  ["the patient's type", () => json('add', '/participant/0/actor/type', 'Patient'), '.participant[0].actor'],
  ['what the service notes of the requestor', () => json('remove', '/meta/extension'), '.meta.extension'],
  ['an owner besides', ({ booked }) => json('add', '/meta/tag', [...(booked.meta?.tag ?? []), { system: system.toLowerCase(), code: 'b' }]), '.meta.tag'],
  ['no tag external', ({ booked }) => json('add', '/meta/tag', booked.meta?.tag?.filter((coding) => coding.code !== 'external')), '.meta.tag'],
  ['security labels', () => json('add', '/meta/security', [{ system: 'urn:x', code: 'R' }]), '.meta.security'],
  ['a forged replacement', () => json('add', '/extension', [{ url: REPLACES, ...refer('Appointment/1') }]), '.extension'],
  [
    'all at once',
    ({ slot, other }) =>
      fhirPathPatch(
        replacing('Appointment.start', { valueInstant: minutes(5) }),
        replacing('Appointment.end', { valueInstant: minutes(25) }),
        replacing('Appointment.slot[0]', refer(slot)),
        replacing(who, refer(other)),
        replacing('Appointment.status', code('cancelled')),
      ),
    '.slot',
    '.start',
    '.end',
    '.participant[0].actor',
  ],
];

/** What is no patch, or leads to no valid appointment. */
// biome-ignore format: a row a line
const wrong: readonly (readonly [what: string, body: unknown, type?: string, status?: number])[] = [
  ['no operation', fhirPathPatch()],
  ['another parameter', { resourceType: 'Parameters', parameter: [{ name: 'action' }] }],
  ['an unknown type', op('upsert', 'Appointment.status', { value: code('cancelled') })],
  ['no path', fhirPathPatch({ type: code('replace'), value: code('cancelled') })],
  ['no value', op('replace', 'Appointment.status')],
  ['replace of what is not there', put('Appointment.comment', text('x'))],
  ['delete of what is not there', op('delete', 'Appointment.comment')],
  ['an element that Appointment does not have', put('Appointment.state', code('cancelled'))],
  ['another type', put('Patient.active', { valueBoolean: false })],
  ['add of a single element that is there', add('status', code('cancelled'))],
  ['a path that climbs', put('Appointment.slot.resolve().status', code('free'))],
  ['a union', put('Appointment.status | Appointment.start', code('cancelled'))],
  ['unbalanced quotes', put("Appointment.where(status = 'booked).status", code('cancelled'))],
  ['10,000 parentheses', put(`${'('.repeat(10_000)}status${')'.repeat(10_000)}`, code('cancelled'))],
  ...[999_999_999, -1, '0'].map((index) => [`insert at ${index}`, op('insert', 'Appointment.participant', { index: number(index), value: text('x') })] as const),
  ['a huge position', put('Appointment.participant[999999999999999999999]', text('x'))],
  ['a negative position', put('Appointment.participant[-1]', text('x'))],
  ...['__proto__', 'constructor', 'invented', ...inherited].map((name) => [`an element ${name}`, add(name, text('x'))] as const),
  ['the id', put('Appointment.id', { valueId: 'another' })],
  ['the version', put('Appointment.meta.versionId', { valueId: '1' })],
  ['another resource type', put('Appointment.resourceType', code('Patient'))],
  ['the whole', put('Appointment', text('x'))],
  ['more than 100 operations', fhirPathPatch(...many(1_000, replacing('Appointment.status', code('booked'))))],
  ['an unknown status', put('Appointment.status', code('abandoned'))],
  ['a status of another kind', put('Appointment.status', number(1))],
  ['no status', op('delete', 'Appointment.status')],
  ['a value of the wrong kind', add('comment', number(5))],
  ['a service type without system', put('Appointment.serviceType[0].coding[0]', { valueCoding: { code: 'ct' } })],
  ['no participant status', op('delete', 'Appointment.participant[0].status')],
  ["another requestor's tag", json('add', '/meta/tag/1/code', 'another')],
  ['no profile', json('remove', '/meta/profile')],
  ['no list of operations', [{ path: '/status' }]],
  ['a test that fails', json('test', '/status', 'pending')],
  ['no pointer', json('replace', 'status', 'cancelled')],
  ['a property of a list', json('replace', '/participant/length', 0)],
  ['behind the end', json('add', '/participant/99999999', {})],
  ...[
    '/constructor',
    '/constructor/prototype/x',
    '/__proto__/x',
    '/toString',
    '/meta/valueOf',
    '/participant/0/actor/toString',
  ].map((path) => [`add ${path}`, json('add', path, 'x')] as const),
  ['the whole as JSON', json('replace', '', { resourceType: 'Patient' })],
  ['null', json('replace', '/status', null)],
  ['doubling', Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/copy${index}` }))],
  ...noTexts.map((one) => [`a narrative of ${one.div.length} characters`, json('add', '/text', one)] as const),
  ['an instant after the year 9999', json('add', '/created', late)],
  ['a period before the year 1', json('add', '/requestedPeriod', [{ end: early }])],
  ['51 answers', json('add', '/supportingInformation', many(51, { reference: 'QuestionnaireResponse/1' }))],
  ...[
    'Appointment/1',
    'PRACTITIONER/1',
    'Group/1',
    'https://elsewhere.example/Practitioner/1',
    'Practitioner/../1',
    '#nobody',
  ].map((one) => [`a participant ${one}`, adding({ reference: one })] as const),
  ['a participant without a reference', adding({ display: 'Dr. Who' })],
  ['5 MB', JSON.stringify(json('add', '/comment', 'x'.repeat(5_000_000))), 'json-patch+json', 413],
  ['half a body', '{"resourceType":', 'fhir+json'],
  ['no body', undefined, 'fhir+json'],
  ['another resource', { resourceType: 'Appointment', status: 'cancelled' }, 'fhir+json'],
  ['a list as FHIR', '[{"op":"replace","path":"/status","value":"cancelled"}]', 'fhir+json'],
  ['Parameters as JSON Patch', { resourceType: 'Parameters' }, 'json-patch+json'],
  ['a key that reaches the prototype', '[{"op":"test","path":"","__proto__":{"x":1}}]', 'json-patch+json'],
  ['XML Patch', '<diff/>', 'xml-patch+xml', 415],
  ['merge patch', { status: 'cancelled' }, 'merge-patch+json', 415],
];

describe('PATCH', () => {
  it.each(immutable)('%s: 400 immutable-element, nothing changed', async (_, body, ...expressions) => {
    const known = await unpatched();
    const response = await patch(known.id, body(known));
    expect(refusalOf(response)).toEqual([400, ...expressions.map((one) => inFull(`immutable-element ${one}`))]);
    expect([isActionable(response), await read(known.id)]).toEqual([true, known.booked]);
  });

  it.each(wrong)('%s is refused, nothing changed', async (_, body, type, status = 400) => {
    const { id, booked } = await unpatched();
    const response = await patch(id, body, 'portal-a', type ? { 'content-type': `application/${type}` } : {});
    expect(response.status).toBe(status);
    if (status === 400) {
      expect(issuesOf(response)[0]).toMatch(/^(patch-invalid|immutable-element|profile-violation|malformed-request)/);
    }
    expect([isActionable(response), await read(id)]).toEqual([true, booked]);
  });

  it('every problem is told at once', async () => {
    const { id, booked } = await unpatched();
    const response = await patch(id, [
      ...json('add', '/participant/0/actor/invented', 'x'),
      ...json('add', '/minutesDuration', '30'),
      ...json('replace', '/end', '2040-01-01T10:00:00Z'),
      ...json('replace', '/status', 'arrived'),
      ...json('add', '/serviceType', [{ coding: [{ code: 'ct' }] }]),
    ]);
    const issues = [
      'immutable-element .end',
      'patch-invalid .minutesDuration',
      'patch-invalid .participant[0].actor.invented',
      'profile-violation .serviceType[0].coding[0]',
      'transition-not-allowed .status',
    ];
    expect([response.status, issuesOf(response).sort(), await read(id)]).toEqual([400, issues.map(inFull), booked]);
  });
});

type Refused = readonly [what: string, patient: object, status: number, issue: string];

const organization = (more: object) => [{ resourceType: 'Organization', id: 'o', name: 'O', ...more }];
const nested = { resourceType: 'Composition', id: 'c', section: [{ title: 'x', section: [{ text: noTexts[0] }] }] };
const twenty = { use: 'oficial', value: '1' };

// biome-ignore format: a row a line
const patients: readonly Refused[] = [
  ['a gender that is a number', { gender: 5 }, 400, 'malformed-request .gender'],
  ['no gender of FHIR', { gender: 'divers' }, 422, 'profile-violation .gender'],
  ['no use of an identifier', { identifier: [twenty] }, 422, 'profile-violation .identifier[0].use'],
  ['no use of a name', { name: [{ use: 'birth', family: 'Neu' }] }, 422, 'profile-violation .name[0].use'],
  ['no kind of contact', { telecom: [{ system: 'signal', value: '1' }] }, 422, 'profile-violation .telecom[0].system'],
  ['no status of a text', { text: { ...xhtml('Neu'), status: 'new' } }, 422, 'profile-violation .text.status'],
  ['an active narrative', { text: noTexts[0] }, 422, 'profile-violation .text.div'],
  ['an endless narrative', { text: noTexts[1] }, 422, 'profile-violation .text.div'],
  ['an active narrative that is contained', { contained: organization({ text: noTexts[0] }), managingOrganization: { reference: '#o' } }, 422, 'profile-violation .contained[0].text.div'],
  ['an active narrative of a section', { contained: [nested] }, 422, 'profile-violation .contained[0].section[0].section[0].text.div'],
  ['implicitRules', { implicitRules: 'urn:x' }, 400, 'malformed-request .implicitRules'],
  ['an unknown modifier', { modifierExtension: [{ url: 'urn:x', valueString: 'x' }] }, 400, 'malformed-request .modifierExtension'],
  ...['replaced-by', 'replaces'].map((type): Refused => [`a merge (${type})`, { link: [{ type, other: { reference: 'Patient/1' } }] }, 422, 'profile-violation .link']),
  ...inherited.map((name): Refused => [`an element ${name}`, { name: [{ family: 'X', [name]: 'x' }] }, 400, `malformed-request .name[0].${name}`]),
  ['51 identifiers', { identifier: many(51, { value: 'x' }) }, 400, 'malformed-request .identifier'],
  ['a long identifier', { identifier: longest }, 400, 'malformed-request .identifier'],
  ['10,000 names', { name: [{ family: 'M', given: many(10_000, 'x') }] }, 400, 'malformed-request'],
  ['a long text in a list', { name: [{ given: ['x'.repeat(40_000)] }] }, 400, 'malformed-request'],
];

describe('a Patient', () => {
  it.each(patients)('with %s is neither created nor replaced: %#', async (_, more, status, issue) => {
    const { patient } = await untouched();
    const expected = [
      status,
      issue.includes(' ') ? [issue.replace(' .', ' Patient.')] : [expect.stringContaining(issue)],
    ];
    const body = { resourceType: 'Patient', ...more };
    const sent: [string, string, object][] = [
      ['POST', '/Patient', body],
      ['PUT', `/Patient/${patient.id}`, { ...body, id: patient.id }],
    ];
    for (const [method, path, one] of sent) {
      const response = await request('portal-a', method, path, { body: one });
      expect([response.status, issuesOf(response)]).toEqual(expected);
    }
    expect((await request('portal-a', 'GET', `/Patient/${patient.id}`)).body).toEqual(patient);
  });

  it.each<[string, string, number]>([
    ['an active narrative', `<text><status value="additional"/>${noTexts[0]?.div}</text>`, 422],
    ['10,000 names', `<name>${'<given value="x"/>'.repeat(10_000)}</name>`, 400],
    ['a long text in a list', `<name><given value="${'x'.repeat(40_000)}"/></name>`, 400],
  ])('in XML with %s is judged alike: %#', async (_, inner, status) => {
    const headers = { 'content-type': 'application/fhir+xml' };
    const body = `<Patient xmlns="http://hl7.org/fhir">${inner}</Patient>`;
    expect((await request('portal-a', 'POST', '/Patient', { headers, body })).status).toBe(status);
  });

  it('of an unknown id, or of another version, is not replaced', async () => {
    const { patient } = await untouched();
    const id = randomUUID();
    expect((await request('portal-a', 'PUT', `/Patient/${id}`, { body: { resourceType: 'Patient', id } })).status).toBe(
      404,
    );
    const options = { body: { ...patient, gender: 'female' }, headers: { 'if-match': `W/"${id}"` } };
    expect((await request('portal-a', 'PUT', `/Patient/${patient.id}`, options)).status).toBe(412);
    expect(await stored('Patient', `_id=${patient.id}`)).toMatchObject([
      { meta: { versionId: patient.meta?.versionId } },
    ]);
  });
});

const deep = `${'{"extension":['.repeat(200)}${']}'.repeat(200)}`;
const big = JSON.stringify({ comment: 'x'.repeat(1024 * 1024) });

it.each<[number, string, string, object]>([
  [404, 'GET', '/Nonsense', {}],
  [404, 'GET', `/Slot/${randomUUID()}`, {}],
  [400, 'POST', '/Appointment/$book', { body: deep }],
  [413, 'POST', '/Appointment/$book', { body: big }],
  [405, 'PUT', '/Appointment/1', { body: {} }],
  [405, 'DELETE', '/Appointment/1', {}],
  [405, 'DELETE', '/Patient/1', {}],
  [405, 'POST', '/Slot', { body: {} }],
  [406, 'GET', '/Slot', { headers: { accept: 'text/csv' } }],
  [406, 'GET', '/Slot', { headers: { accept: 'text/html' } }],
  [415, 'POST', '/Patient', { body: 'hello', headers: { 'content-type': 'text/plain' } }],
  [415, 'POST', '/Patient', { body: 'hello', headers: { 'content-type': 'text/turtle' } }],
  ...[late, early].flatMap((one): [number, string, string, object][] =>
    ['/Slot?start=ge', '/Appointment?date=', '/Appointment?_lastUpdated=lt'].map((path) => [
      400,
      'GET',
      `${path}${encodeURIComponent(one ?? '')}`,
      {},
    ]),
  ),
])('%i: %s %s is an OperationOutcome', async (status, method, path, options) => {
  const response: Answer = await request('portal-a', method, path, options);
  expect([response.status, isActionable(response)]).toEqual([status, true]);
  expect(response.text).not.toMatch(/\bat \S+ \(|node_modules|portal-a|127\.0\.0\.1/);
  expect(response.headers.get('allow') ?? (status === 405 ? '' : 'GET')).toContain('GET');
  expect(base).toMatch(/^http/);
});
