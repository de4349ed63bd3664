import { expect, test } from '@jest/globals';
import type { Appointment, Patient, Task } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { dueRemoval, laterRow, planErasure, pseudonymous } from '../../../core/person/erasure.ts';
import { exportBundle } from '../../../core/person/export.ts';
import { isJobOf, type PersonRecords, recordIds } from '../../../core/person/records.ts';

const config = resolveConfig({ baseUrl: 'https://booking.example/fhir/R4' });
const [own, other] = ['0b1c2d3e-0000-4000-8000-000000000001', '0b1c2d3e-0000-4000-8000-000000000002'];
const hash = (text: string): string => `hash of ${text.length}`;
const none: PersonRecords = {
  patients: [],
  relatedPersons: [],
  appointments: [],
  answers: [],
  encounters: [],
  jobs: [],
  responses: [],
  tasks: [],
  events: [],
  messages: [],
  subscriptions: [],
  earlier: [],
};
const context = { id: own, config, isForced: false, keptPatients: [own], clinical: new Map(), hash };
const plan = (records: Partial<PersonRecords>, more: Partial<typeof context> = {}) =>
  planErasure({ ...none, ...records }, new Set([own]), { ...context, ...more });

const appointment = (fields: Partial<Appointment> = {}): Appointment & { id: string } => ({
  resourceType: 'Appointment',
  id: 'a1',
  status: 'fulfilled',
  participant: [{ actor: { reference: `Patient/${own}`, display: 'Anna Meyer' }, status: 'accepted' }],
  ...fields,
});

test('of an appointment stay time, codes, slots and the clinic; no text, no person, no owner', () => {
  const kept = {
    status: 'noshow',
    start: '2026-01-05T08:00:00Z',
    end: '2026-01-05T08:30:00Z',
    minutesDuration: 30,
    slot: [{ reference: 'Slot/1' }],
  } as const;
  const notified = {
    description: 'Anna',
    comment: 'Anna',
    patientInstruction: 'Anna',
    reasonCode: [{ text: 'Anna' }],
    identifier: [{ system: 'urn:portal', value: 'Anna' }],
    supportingInformation: [{ reference: 'QuestionnaireResponse/Anna' }],
    contained: [{ resourceType: 'Patient', id: 'Anna' }],
    extension: [{ url: 'urn:x', valueString: 'Anna' }],
    meta: { tag: [{ system: 'urn:owner', code: 'Anna' }] },
  } as const;
  const made = pseudonymous(
    JSON.parse(
      JSON.stringify({
        ...appointment(),
        ...kept,
        ...notified,
        serviceType: [{ text: 'Anna', coding: [{ system: 'urn:s', code: 'ct', display: 'Anna' }] }, { text: 'Anna' }],
        participant: [
          { actor: { reference: `Patient/${own}`, display: 'Anna' }, status: 'accepted' },
          { actor: { reference: 'RelatedPerson/Anna' }, status: 'accepted' },
          { actor: { reference: 'Practitioner/1', display: 'Anna' }, status: 'tentative' },
        ],
      }),
    ),
    { config, hash },
  );
  expect(made).toEqual({
    resourceType: 'Appointment',
    identifier: [{ system: `${config.profileBase}/NamingSystem/LocalErased`, value: 'hash of 2' }],
    ...kept,
    serviceType: [{ coding: [{ system: 'urn:s', code: 'ct' }] }],
    participant: [
      { type: [{ text: 'Erased person' }], status: 'accepted' },
      { type: [{ text: 'Erased person' }], status: 'accepted' },
      { actor: { reference: 'Practitioner/1' }, status: 'tentative' },
    ],
  });
});

test('an appointment with other patients stays as it is, and that is said; an open one is an obstacle even by force', () => {
  const participant = [own, other].map((id) => ({
    actor: { reference: `Patient/${id}` },
    status: 'accepted' as const,
  }));
  const closed = plan({ appointments: [appointment({ participant })] });
  expect(closed.removals).toEqual([{ reference: `Patient/${own}` }]);
  expect(closed.left).toEqual([expect.stringContaining('Appointment/a1')]);
  const open = plan({ appointments: [appointment({ participant, status: 'booked' })] }, { isForced: true });
  expect(open.obstacles).toHaveLength(1);
});

test.each([
  ['booked', false, 1],
  ['booked', true, 0],
  ['arrived', true, 1],
  ['cancelled', false, 0],
] as const)('%s, force %s: %i obstacles', (status, isForced, count) => {
  expect(plan({ appointments: [appointment({ status })] }, { isForced }).obstacles).toHaveLength(count);
});

test('a booking that is under way is an obstacle, unless it is forced', () => {
  const job = { resourceType: 'Task', id: 't1', status: 'requested', intent: 'order' } as const;
  expect(plan({ jobs: [job] }).obstacles).toEqual([expect.stringContaining('Task/t1')]);
  expect(plan({ jobs: [job] }, { isForced: true }).obstacles).toEqual([]);
});

test('a Subscription whose filter names others stays', () => {
  const filtered = (id: string, patients: readonly string[]) => {
    const valueString = `Appointment?patient=${patients.join(',')}&status=booked`;
    const url = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-filter-criteria';
    const stored = {
      resourceType: 'Subscription',
      id,
      status: 'active',
      _criteria: { extension: [{ url, valueString }] },
    };
    return JSON.parse(JSON.stringify(stored));
  };
  const { removals, left } = plan({
    subscriptions: [filtered('s1', [own]), filtered('s2', [`Patient/${own}`, other])],
  });
  expect(removals.map(({ reference }) => reference)).toEqual(['Subscription/s1', `Patient/${own}`]);
  expect(left).toEqual([expect.stringContaining('Subscription/s2')]);
});

test('records that the clinic has merged are one person; what is only related, or what a portal says, is another', () => {
  const patient = (
    id: string,
    type: 'replaces' | 'replaced-by' | 'seealso',
    to: string,
    author = 'Practitioner/1',
  ) => ({
    resourceType: 'Patient' as const,
    id,
    meta: { author: { reference: author } },
    link: [{ type, other: { reference: `Patient/${to}` } }],
  });
  const history = (...versions: Patient[]) => ({ id: versions[0]?.id ?? '', isDeleted: false, versions });
  const patients = [
    history(patient('b', 'replaced-by', 'a')),
    history(patient('c', 'replaced-by', 'b')),
    history(patient('d', 'seealso', 'a')),
    history(patient('e', 'replaces', 'a'), { resourceType: 'Patient', id: 'e' }),
    history(patient('f', 'replaces', 'a'), patient('f', 'replaces', 'a', 'ClientApplication/1')),
    history(patient('g', 'replaces', 'a', 'Bot/1'), { resourceType: 'Patient', id: 'g' }),
    history({ resourceType: 'Patient', id: 'h' }, patient('h', 'replaced-by', 'a')),
  ];
  expect(recordIds('a', patients)).toEqual(new Set(['a', 'b', 'c', 'e']));
});

test('an asynchronous booking is found by an id, by its result or by an identifier that was sent', () => {
  const task = (body: unknown, output?: string, requestor = 'a'): Task => ({
    resourceType: 'Task',
    status: 'failed',
    intent: 'order',
    input: [{ type: { text: 'job' }, valueString: JSON.stringify({ body, requestor }) }],
    ...(output && { output: [{ type: { text: 'appointment' }, valueReference: { reference: output } }] }),
  });
  const traces = { ids: new Set([own]), identifiers: [{ system: 'urn:Portal', value: '7' }] };
  const sent = { resourceType: 'Patient', identifier: [{ system: 'urn:portal', value: '7' }] };
  expect(isJobOf(task({ participant: `Patient/${own}` }), traces)).toBe(true);
  expect(isJobOf(task({}, `Appointment/${own}`), traces)).toBe(true);
  expect(isJobOf(task({ parameter: [{ resource: sent }] }), traces)).toBe(true);
  expect(
    isJobOf(task({ parameter: [{ resource: { ...sent, identifier: [{ system: 'urn:x', value: '7' }] } }] }), traces),
  ).toBe(false);
  const ofPortal = { ...traces, identifiers: [{ system: 'urn:portal', value: '7', owner: 'a' }] };
  expect(['a', 'b'].map((portal) => isJobOf(task({ resource: sent }, undefined, portal), ofPortal))).toEqual([
    true,
    false,
  ]);
  expect(isJobOf(task({ participant: `Patient/${other}` }, `Appointment/${other}`), traces)).toBe(false);
});

test('an export shows of shared messages, filters and appointments the own part only', () => {
  const entry = [
    { resource: { resourceType: 'Parameters', id: other } },
    { resource: appointment() },
    {
      resource: appointment({
        id: 'a2',
        participant: [{ actor: { reference: `Patient/${other}` }, status: 'accepted' }],
      }),
    },
  ];
  const message = {
    resourceType: 'Communication',
    status: 'completed',
    payload: [{ contentString: JSON.stringify({ resourceType: 'Bundle', type: 'history', entry }) }],
  } as const;
  const subscription = {
    resourceType: 'Subscription',
    status: 'active',
    reason: other,
    criteria: 'urn:topic',
    channel: { type: 'rest-hook', endpoint: 'https://secret.example', header: ['Authorization: secret'] },
  } as const;
  const both = appointment({
    participant: [own, other].map((id) => ({ actor: { reference: `Patient/${id}` }, status: 'accepted' as const })),
  });
  const bundle = exportBundle(
    JSON.parse(JSON.stringify([message, subscription, both])),
    0,
    {
      ...{ ids: new Set([own]), persons: new Set([own]), patients: new Set([own]), identifiers: [] },
    },
    config,
  );
  const text = JSON.stringify(bundle);
  expect(text).toContain(own);
  expect(text).toContain('Anna Meyer');
  expect(text).not.toContain(other);
  expect(text).not.toContain('secret');
});

test('a row removes nothing but what an erasure leaves to others', () => {
  const patient: Patient = { resourceType: 'Patient', id: other };
  const row = laterRow({ reference: `Patient/${other}`, persons: [own] }, config);
  expect(dueRemoval(row, { isDeleted: false, versions: [patient] }, { config, hash })).toBeUndefined();
});

test('two persons who had the same appointment share its row, which no run of one of them removes', () => {
  const reference = 'Appointment/a1';
  const stored = { ...laterRow({ reference, persons: [other] }, config), id: 't1' };
  const row = { ...laterRow({ reference, persons: [own] }, config, stored), id: 't1' };
  expect(row.input?.map(({ valueString }) => valueString)).toEqual([other, own]);
  expect(plan({ tasks: [row] }).removals.map((removal) => removal.reference)).not.toContain('Task/t1');
});
