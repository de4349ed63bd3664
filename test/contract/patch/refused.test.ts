import { describe, expect, it } from '@jest/globals';
import { aPatient, aSlot, book, minutes, once, proposed, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf } from '../http.ts';
import { base } from '../installation.ts';
import { aBooking, fhirPathPatch, operation, patch, read, replacing } from './fixtures.ts';

/** What the patches of the table know of the appointment they are meant for. */
interface Known {
  readonly patient: string;
  readonly otherPatient: string;
  readonly otherSlot: string;
}

/** An appointment that stays as it is: no patch of this file is applied to it. */
const untouched = once(async () => {
  const { schedule, patient, id, booked } = await aBooking();
  const [later, stranger] = [await aSlot(schedule, 60, 90), await aPatient()];
  const known: Known = {
    patient: `Patient/${patient.id}`,
    otherPatient: `Patient/${stranger.id}`,
    otherSlot: `Slot/${later.id}`,
  };
  return { id, booked, known };
});

const slotValue = ({ otherSlot }: Known) => ({ valueReference: { reference: otherSlot } });
const actorValue = ({ otherPatient }: Known) => ({ valueReference: { reference: otherPatient } });

const add = (path: string, name: string, value: object) => ({
  type: { valueCode: 'add' },
  path: { valueString: path },
  name: { valueString: name },
  value,
});

const insert = (path: string, index: number, value: object) => ({
  type: { valueCode: 'insert' },
  path: { valueString: path },
  index: { valueInteger: index },
  value,
});

const remove = (path: string) => ({ type: { valueCode: 'delete' }, path: { valueString: path } });
const actor = 'Appointment.participant[0].actor';

const table: readonly (readonly [string, (known: Known) => unknown, readonly string[]])[] = [
  [
    'replace start',
    () => fhirPathPatch(replacing('Appointment.start', { valueInstant: minutes(5) })),
    ['Appointment.start'],
  ],
  ['replace end', () => fhirPathPatch(replacing('end', { valueInstant: minutes(25) })), ['Appointment.end']],
  ['delete start', () => fhirPathPatch(remove('Appointment.start')), ['Appointment.start']],
  [
    'replace a slot',
    (known) => fhirPathPatch(replacing('Appointment.slot[0]', slotValue(known))),
    ['Appointment.slot'],
  ],
  [
    'replace the reference of a slot',
    ({ otherSlot }) => fhirPathPatch(replacing('Appointment.slot.first().reference', { valueString: otherSlot })),
    ['Appointment.slot'],
  ],
  ['add a slot', (known) => fhirPathPatch(add('Appointment', 'slot', slotValue(known))), ['Appointment.slot']],
  ['insert a slot', (known) => fhirPathPatch(insert('Appointment.slot', 0, slotValue(known))), ['Appointment.slot']],
  ['delete the slot', () => fhirPathPatch(remove('Appointment.slot[0]')), ['Appointment.slot']],
  ['replace the patient', (known) => fhirPathPatch(replacing(actor, actorValue(known))), [actor]],
  [
    'replace the patient, chosen by a condition',
    ({ patient, otherPatient }) =>
      fhirPathPatch(
        replacing(`Appointment.participant.where(actor.reference = '${patient}').actor.reference`, {
          valueString: otherPatient,
        }),
      ),
    [actor],
  ],
  ['delete the actor', () => fhirPathPatch(remove(actor)), [actor]],
  [
    'a second patient',
    (known) =>
      fhirPathPatch(
        add('Appointment', 'participant', {
          part: [
            { name: 'actor', ...actorValue(known) },
            { name: 'status', valueCode: 'accepted' },
          ],
        }),
      ),
    ['Appointment.participant[1].actor'],
  ],
  [
    'the patient by identifier only',
    () => fhirPathPatch(replacing(actor, { valueReference: { type: 'Patient', identifier: { value: '1' } } })),
    [actor],
  ],
  [
    'a patient to be looked up',
    () => fhirPathPatch(replacing(`${actor}.reference`, { valueString: 'Patient?identifier=1' })),
    [actor],
  ],
  [
    'all at once: one issue for each',
    (known) =>
      fhirPathPatch(
        replacing('Appointment.start', { valueInstant: minutes(5) }),
        replacing('Appointment.end', { valueInstant: minutes(25) }),
        replacing('Appointment.slot[0]', slotValue(known)),
        replacing(actor, actorValue(known)),
        replacing('Appointment.status', { valueCode: 'cancelled' }),
      ),
    ['Appointment.slot', 'Appointment.start', 'Appointment.end', actor],
  ],
  [
    'JSON Patch: start and slot',
    ({ otherSlot }) => [
      { op: 'replace', path: '/start', value: minutes(5) },
      { op: 'replace', path: '/slot/0/reference', value: otherSlot },
    ],
    ['Appointment.slot', 'Appointment.start'],
  ],
  ['JSON Patch: copy end over start', () => [{ op: 'copy', from: '/end', path: '/start' }], ['Appointment.start']],
  [
    'JSON Patch: what the service notes of the requestor',
    () => [{ op: 'remove', path: '/meta/extension' }],
    ['Appointment.meta.extension'],
  ],
  ['JSON Patch: move the participant away', () => [{ op: 'remove', path: '/participant/0/actor' }], [actor]],
];

describe('a patch that changes an immutable element', () => {
  it.each(table)('%s: 400 immutable-element, nothing changed', async (_, body, expressions) => {
    const { known, id, booked } = await untouched();
    const answer = await patch(id, body(known));
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(expressions.map((expression) => `immutable-element ${expression}`));
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it('another order of the slots is a change', async () => {
    const { schedule, slot, patient } = await aBooking();
    const [first, second] = [await aSlot(schedule, 60, 90), await aSlot(schedule, 90, 120)];
    const body = proposed(patient, [first, second], { from: 60, to: 120 });
    const booked = succeeded('Appointment', await book(body));
    const move = {
      type: { valueCode: 'move' },
      path: { valueString: 'Appointment.slot' },
      source: { valueInteger: 1 },
      destination: { valueInteger: 0 },
    };
    const answer = await patch(booked.id ?? '', fhirPathPatch(move));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'immutable-element Appointment.slot']);
    expect(slot.status).toBe('free');
    expect(await read(booked.id ?? '')).toEqual(booked);
  });
});

const op = (parts: Readonly<Record<string, object>>) => ({ resourceType: 'Parameters', parameter: [operation(parts)] });
const code = (value: string) => ({ valueCode: value });
const text = (value: string) => ({ valueString: value });
const number = (value: unknown) => ({ valueInteger: value });

const wrong: readonly (readonly [string, unknown])[] = [
  ['no operation', { resourceType: 'Parameters', parameter: [] }],
  ['another parameter', { resourceType: 'Parameters', parameter: [{ name: 'action' }] }],
  ['an unknown type', op({ type: code('upsert'), path: text('Appointment.status'), value: code('cancelled') })],
  ['no path', op({ type: code('replace'), value: code('cancelled') })],
  ['no value', op({ type: code('replace'), path: text('Appointment.status') })],
  ['replace of what is not there', fhirPathPatch(replacing('Appointment.comment', text('x')))],
  ['delete of what is not there', op({ type: code('delete'), path: text('Appointment.comment') })],
  ['an element that Appointment does not have', fhirPathPatch(replacing('Appointment.state', code('cancelled')))],
  ['another type', fhirPathPatch(replacing('Patient.active', { valueBoolean: false }))],
  [
    'add of a single element that is there',
    op({ type: code('add'), path: text('Appointment'), name: text('status'), value: code('cancelled') }),
  ],
  ['a path that climbs', fhirPathPatch(replacing('Appointment.slot.resolve().status', code('free')))],
  ['a union', fhirPathPatch(replacing('Appointment.status | Appointment.start', code('cancelled')))],
  ['unbalanced quotes', fhirPathPatch(replacing("Appointment.where(status = 'booked).status", code('cancelled')))],
  [
    '10,000 parentheses',
    fhirPathPatch(replacing(`${'('.repeat(10_000)}status${')'.repeat(10_000)}`, code('cancelled'))),
  ],
  [
    'insert far behind the end',
    op({
      type: code('insert'),
      path: text('Appointment.participant'),
      index: number(999_999_999),
      value: { valueReference: {} },
    }),
  ],
  [
    'insert before the beginning',
    op({ type: code('insert'), path: text('Appointment.participant'), index: number(-1), value: text('x') }),
  ],
  [
    'a text for a number',
    op({ type: code('insert'), path: text('Appointment.participant'), index: number('0'), value: text('x') }),
  ],
  ['a huge position', fhirPathPatch(replacing('Appointment.participant[999999999999999999999]', text('x')))],
  ['a negative position', fhirPathPatch(replacing('Appointment.participant[-1]', text('x')))],
  ['__proto__', op({ type: code('add'), path: text('Appointment'), name: text('__proto__'), value: text('x') })],
  ['constructor', op({ type: code('add'), path: text('Appointment'), name: text('constructor'), value: text('x') })],
  ['the id', fhirPathPatch(replacing('Appointment.id', { valueId: 'another' }))],
  ['the version', fhirPathPatch(replacing('Appointment.meta.versionId', { valueId: '1' }))],
  ['another resource type', fhirPathPatch(replacing('Appointment.resourceType', code('Patient')))],
  ['the whole', fhirPathPatch(replacing('Appointment', text('x')))],
  ['more than 100 operations', fhirPathPatch(...Array(1000).fill(replacing('Appointment.status', code('booked'))))],
  ['an unknown status', fhirPathPatch(replacing('Appointment.status', code('abandoned')))],
  ['a status of another kind', fhirPathPatch(replacing('Appointment.status', number(1)))],
  ['no status', op({ type: code('delete'), path: text('Appointment.status') })],
  [
    'an element that FHIR does not know',
    op({ type: code('add'), path: text('Appointment'), name: text('invented'), value: text('x') }),
  ],
  [
    'a value of the wrong kind',
    op({ type: code('add'), path: text('Appointment'), name: text('comment'), value: { valueInteger: 5 } }),
  ],
  [
    'a service type without system',
    fhirPathPatch(replacing('Appointment.serviceType[0].coding[0]', { valueCoding: { code: 'ct' } })),
  ],
  ['no participant status', op({ type: code('delete'), path: text('Appointment.participant[0].status') })],
  ["another requestor's tag", [{ op: 'add', path: '/meta/tag/1/code', value: 'another' }]],
  ['no profile', [{ op: 'remove', path: '/meta/profile' }]],
  ['JSON Patch: no list of operations', [{ path: '/status' }]],
  ['JSON Patch: a test that fails', [{ op: 'test', path: '/status', value: 'pending' }]],
  ['JSON Patch: no pointer', [{ op: 'replace', path: 'status', value: 'cancelled' }]],
  ['JSON Patch: a property of a list', [{ op: 'replace', path: '/participant/length', value: 0 }]],
  ['JSON Patch: behind the end', [{ op: 'add', path: '/participant/99999999', value: {} }]],
  ['JSON Patch: constructor', [{ op: 'add', path: '/constructor', value: {} }]],
  ['JSON Patch: prototype', [{ op: 'add', path: '/constructor/prototype/polluted', value: true }]],
  ['JSON Patch: __proto__', [{ op: 'add', path: '/__proto__/polluted', value: true }]],
  ['JSON Patch: the whole', [{ op: 'replace', path: '', value: { resourceType: 'Patient' } }]],
  ['JSON Patch: null', [{ op: 'replace', path: '/status', value: null }]],
  ['JSON Patch: doubling', Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/copy${index}` }))],
];

describe('what is no patch, or leads to no valid appointment', () => {
  it.each(wrong)('%s: 400, nothing changed', async (_, body) => {
    const { id, booked } = await untouched();
    const answer = await patch(id, body);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)[0]).toMatch(/^(patch-invalid|immutable-element|profile-violation|malformed-request)/);
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it.each<[string, unknown, number, string]>([
    ['5 MB', JSON.stringify([{ op: 'add', path: '/comment', value: 'x'.repeat(5_000_000) }]), 413, 'json-patch+json'],
    ['not JSON', '{"resourceType":', 400, 'fhir+json'],
    ['no body', undefined, 400, 'fhir+json'],
    ['another resource', { resourceType: 'Appointment', status: 'cancelled' }, 400, 'fhir+json'],
    ['a list as FHIR', '[{"op":"replace","path":"/status","value":"cancelled"}]', 400, 'fhir+json'],
    ['Parameters as JSON Patch', { resourceType: 'Parameters' }, 400, 'json-patch+json'],
    ['a key that reaches the prototype', '[{"op":"test","path":"","__proto__":{"x":1}}]', 400, 'json-patch+json'],
    ['XML Patch', '<diff/>', 415, 'xml-patch+xml'],
    ['merge patch', { status: 'cancelled' }, 415, 'merge-patch+json'],
  ])('%s: %#', async (_, body, status, type) => {
    const { id, booked } = await untouched();
    const answer = await patch(id, body, 'portal-a', { 'content-type': `application/${type}` });
    expect(answer.status).toBe(status);
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it('the next request is served', async () => {
    const { id } = await aBooking();
    const answer = await patch(id, fhirPathPatch(replacing('Appointment.status', code('cancelled'))));
    expect(answer.status).toBe(200);
  });
});

const adding = (actor: object) => [{ op: 'add', path: '/participant/-', value: { actor, status: 'accepted' } }];

it.each([
  'Appointment/1',
  'PRACTITIONER/1',
  'Group/1',
  'https://elsewhere.example/fhir/Practitioner/1',
  'Practitioner/../1',
  '#nobody',
])('a participant %s is refused (400), as by $book', async (reference) => {
  const { id, booked } = await untouched();
  const answer = await patch(id, adding({ reference }));
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['patch-invalid Appointment.participant[1].actor']]);
  expect((await read(id)).participant).toEqual(booked.participant);
});

it.each(['PATIENT/1', 'patient/1', 'https://elsewhere.example/fhir/PATIENT/1'])(
  'a participant %s counts as a patient (400)',
  async (reference) => {
    const { id } = await untouched();
    const answer = await patch(id, adding({ reference }));
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['immutable-element Appointment.participant[1].actor']]);
  },
);

it('an actor without a reference is refused (400), one of the service is stored without its address', async () => {
  const { id } = await aBooking();
  const answer = await patch(id, adding({ display: 'Dr. Who' }));
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['patch-invalid Appointment.participant[1].actor']]);
  expect((await patch(id, adding({ reference: `${base}/Location/1` }))).status).toBe(200);
  expect((await read(id)).participant.at(-1)?.actor?.reference).toBe('Location/1');
});
