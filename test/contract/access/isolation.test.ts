import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { ANSWER_HEADER, AS_PARAMETERS, LEADS_HEADER, VERSION_HEADER } from '../../../core/booking/request/answer.ts';
import { bots, callableBots } from '../../../core/config/bots.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { standIn } from '../clients.ts';
import {
  aClinic,
  answers,
  aPatient,
  aSchedule,
  aSlot,
  book,
  minutes,
  once,
  parameters,
  proposed,
  slotsOf,
  stored,
} from '../fixtures.ts';
import { isActionable, medplum, refusalOf, request, resourceIn } from '../http.ts';
import { config, medplumBase, type Role, tokenOf } from '../installation.ts';
import { subscription } from '../notifications/fixtures.ts';
import { aBooking, patch } from '../patch/fixtures.ts';

describe('isolation', () => {
  async function aBooking() {
    const { slot, patient } = await aClinic();
    return { slot, patient, appointment: resourceIn('Appointment', await book(proposed(patient, [slot]))) };
  }

  const found = (response: Awaited<ReturnType<typeof request>>) => resourceIn('Bundle', response).entry ?? [];

  describe.each([
    ['through the service', request],
    ['at Medplum itself', medplum],
  ])("portal B and portal A's resources, %s", (_, send) => {
    it('cannot be read', async () => {
      const { patient, appointment } = await aBooking();
      for (const path of [`/Patient/${patient.id}`, `/Appointment/${appointment.id}`]) {
        expect((await send('portal-a', 'GET', path)).status).toBe(200);
        expect((await send('portal-b', 'GET', path)).status).toBe(404);
      }
    });

    it('cannot be found', async () => {
      const { patient, appointment, slot } = await aBooking();
      const paths = [
        `/Patient?_id=${patient.id}`,
        `/Patient?identifier=${patient.identifier?.[0]?.value}`,
        `/Appointment?_id=${appointment.id}`,
        `/Appointment?patient=Patient/${patient.id}`,
        `/Appointment?slot=Slot/${slot.id}&_include=Appointment:patient`,
      ];
      for (const path of paths) {
        expect(found(await send('portal-a', 'GET', path)).length).toBeGreaterThan(0);
        expect(found(await send('portal-b', 'GET', path))).toEqual([]);
      }
    });

    it('cannot be changed', async () => {
      const { patient } = await aBooking();
      const response = await send('portal-b', 'PUT', `/Patient/${patient.id}`, {
        body: { ...patient, gender: 'other' },
      });
      expect([403, 404]).toContain(response.status);
      expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`)).gender).toBeUndefined();
    });
  });

  it('no portal reads what the clinic notes at a time, through whatever door, and it stays at the time when it is booked', async () => {
    const [schedule, patient] = [await aSchedule(), await aPatient()];
    const [free, absent] = [
      await aSlot(schedule, 0, 60, { comment: 'burnout' }),
      await aSlot(schedule, 90, 120, { comment: 'burnout', status: 'busy-unavailable' }),
    ];
    const booked = resourceIn('Appointment', await book(proposed(patient, [free])));
    const paths = [
      `/Slot/${absent.id}`,
      `/Slot?schedule=Schedule/${schedule.id}&status=free,busy,busy-unavailable`,
      `/Slot?_id=${absent.id}&_fields=comment`,
      `/Slot?_id=${absent.id}&_elements=comment`,
      `/Appointment?_id=${booked.id}&_include=Appointment:slot`,
      `/Slot/${absent.id}/_history`,
    ];
    for (const send of [request, medplum]) {
      for (const path of paths) {
        const { body } = await send('portal-a', 'GET', path);
        expect([path, JSON.stringify(body).includes('burnout')]).toEqual([path, false]);
      }
    }
    const kept = await stored('Slot', `schedule=Schedule/${schedule.id}&_sort=start`);
    expect(kept.map(({ status, comment }) => [status, comment])).toEqual([
      ['busy', 'burnout'],
      ['free', undefined],
      ['busy-unavailable', 'burnout'],
    ]);
  });

  describe('a requestor at Medplum itself', () => {
    it.each<[string, object]>([
      ['Appointment', { status: 'booked', participant: [{ status: 'accepted', actor: { display: 'x' } }] }],
      ['Slot', { status: 'free', start: minutes(0), end: minutes(30), schedule: { display: 'x' } }],
      ['Schedule', { actor: [{ display: 'x' }] }],
      ['Patient', {}],
      ['QuestionnaireResponse', { status: 'completed' }],
      ['Task', { status: 'requested', intent: 'order' }],
      ['Bot', { name: 'mine' }],
      ['AuditEvent', {}],
    ])('cannot create a %s', async (resourceType, elements) => {
      const response = await medplum('portal-a', 'POST', `/${resourceType}`, { body: { resourceType, ...elements } });
      expect(response.status).toBe(403);
    });

    it('cannot change an appointment or a slot', async () => {
      const { slot, appointment } = await aBooking();
      const patch = {
        body: [{ op: 'replace', path: '/status', value: 'free' }],
        headers: { 'content-type': 'application/json-patch+json' },
      };
      for (const { resourceType, id, ...rest } of [slot, appointment]) {
        const path = `/${resourceType}/${id}`;
        const body = { resourceType, id, ...rest, comment: 'mine' };
        expect((await medplum('portal-a', 'PUT', path, { body })).status).toBe(403);
        expect((await medplum('portal-a', 'PATCH', path, patch)).status).toBe(403);
        expect((await medplum('portal-a', 'DELETE', path)).status).toBe(403);
      }
    });

    it("cannot give a patient to another portal's name, nor take the tag off", async () => {
      const patient = await aPatient();
      const tag = patient.meta?.tag?.map((coding) => ({ ...coding, code: 'somebody-else' })) ?? [];
      const response = await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, {
        body: { ...patient, meta: { ...patient.meta, tag } },
      });
      expect(response.status).toBe(403);
    });

    it("cannot give a patient another portal's tag besides its own, in whatever letters", async () => {
      const [patient, foreign] = [await aPatient('portal-a'), await aPatient('portal-b')];
      const system = artefactUri(config, 'LocalRequestor');
      const theirs = foreign.meta?.tag?.find((tag) => tag.system === system);
      for (const spelt of [system, system.toUpperCase(), system.toLowerCase(), system.replace('h', 'H')]) {
        const tag = [...(patient.meta?.tag ?? []), { ...theirs, system: spelt }];
        const { id: _, ...fresh } = { ...patient, meta: { tag } };
        const patch = {
          body: [{ op: 'add', path: '/meta/tag/-', value: { ...theirs, system: spelt } }],
          headers: { 'content-type': 'application/json-patch+json' },
        };
        const path = `/Patient/${patient.id}`;
        expect((await medplum('portal-a', 'POST', '/Patient', { body: fresh })).status).toBe(403);
        expect((await medplum('portal-a', 'PUT', path, { body: { ...patient, meta: { tag } } })).status).toBe(403);
        expect((await medplum('portal-a', 'PATCH', path, patch)).status).toBe(403);
      }
      expect((await medplum('portal-b', 'GET', `/Patient/${patient.id}`)).status).toBe(404);
    });

    it('cannot read policies, memberships, clients or audits', async () => {
      for (const type of ['AccessPolicy', 'ProjectMembership', 'ClientApplication', 'AuditEvent']) {
        const response = await medplum('portal-a', 'GET', `/${type}`);
        expect(response.status === 403 || found(response).length === 0).toBe(true);
      }
    });
  });
});

describe('at medplum itself', () => {
  /** What an answer must not contain: neither family name nor answers of the other portal's patient. */
  const SECRETS = ['Verborgen', 'Geheimnis'];
  let patient: Patient;
  let appointment: Appointment;
  let own: Patient;

  beforeAll(async () => {
    const name = [{ family: SECRETS[0] ?? '', given: ['Eva'] }];
    const [clinic, named] = [await aClinic(), await aPatient('portal-a', { name })];
    const secret = [{ linkId: '1', text: 'Why?', answer: [{ valueString: SECRETS[1] ?? '' }] }];
    const request = parameters(proposed(named, [clinic.slot]), [
      'patientSubmittedInformation',
      { ...answers, item: secret },
    ]);
    patient = named;
    appointment = resourceIn('Appointment', await book(request));
    own = await aPatient('portal-b');
  });

  const references = (): string[] => [
    `Patient/${patient.id}`,
    `Appointment/${appointment.id}`,
    appointment.supportingInformation?.[0]?.reference ?? '',
  ];

  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    medplum('portal-b', method, path, { ...(body !== undefined && { body }), headers });

  /** Whether an answer says nothing of the other portal's patient. */
  const isSilent = ({ text }: { readonly text: string }): boolean => SECRETS.every((secret) => !text.includes(secret));

  describe("with its credentials at Medplum itself, a portal and another's patient, appointment and answers", () => {
    it.each([
      ['GET', ''],
      ['GET', '/_history'],
      ['POST', '/$everything'],
      ['GET', '/$everything'],
      ['GET', '/$graph?graph=any'],
      ['GET', '/$summary'],
      ['GET', '/$ccda-export'],
      ['POST', '/$expunge'],
      ['POST', '/$set-accounts'],
    ])('%s [reference]%s: refused', async (method, suffix) => {
      for (const reference of references()) {
        const body = method === 'POST' ? { resourceType: 'Parameters' } : undefined;
        const response = await ask(method, `/${reference}${suffix}`, body);
        expect({ reference, refused: response.status >= 400 && response.status < 500 }).toEqual({
          reference,
          refused: true,
        });
        expect(isSilent(response)).toBe(true);
      }
    });

    it('single versions: not found', async () => {
      for (const { resourceType, id, meta } of [patient, appointment]) {
        expect((await ask('GET', `/${resourceType}/${id}/_history/${meta?.versionId}`)).status).toBe(404);
      }
    });

    it('batches, transactions and GraphQL: nothing of them', async () => {
      const entry = references().map((url) => ({ request: { method: 'GET', url } }));
      const type = ['batch', 'transaction'];
      for (const body of type.map((one) => ({ resourceType: 'Bundle', type: one, entry }))) {
        expect(isSilent(await ask('POST', '', body))).toBe(true);
      }
      const query = `{ Patient(id: "${patient.id}") { name { family } } PatientList { name { family } } }`;
      expect(isSilent(await ask('POST', '/$graphql', { query }))).toBe(true);
    });

    it.each([
      '_include=Slot:schedule&_revinclude=Appointment:slot',
      '_revinclude=Appointment:slot&_include:iterate=Appointment:patient',
    ])('a search for the slot with %s: nothing of them', async (include) => {
      const slot = appointment.slot?.[0]?.reference?.split('/')[1];
      const response = await ask('GET', `/Slot?_id=${slot}&${include}`);
      const types = (resourceIn('Bundle', response).entry ?? []).map(({ resource }) => resource?.resourceType);
      expect(types.filter((one) => one !== 'Slot' && one !== 'Schedule')).toEqual([]);
    });

    it('a link to the patient includes nothing of it', async () => {
      const link = [{ type: 'seealso', other: { reference: `Patient/${patient.id}` } }];
      await ask('PUT', `/Patient/${own.id}`, { ...own, link });
      expect(isSilent(await ask('GET', `/Patient?_id=${own.id}&_include=Patient:link`))).toBe(true);
      const query = `{ PatientList(_id: "${own.id}") { link { other { resource { ... on Patient { name { family } } } } } } }`;
      expect(isSilent(await ask('POST', '/$graphql', { query }))).toBe(true);
    });

    it('conditional writes change nothing of them', async () => {
      const value = patient.identifier?.[0]?.value;
      const body = { resourceType: 'Patient', meta: own.meta, gender: 'male' };
      const patch = [{ op: 'add', path: '/gender', value: 'male' }];
      await ask('PUT', `/Patient?identifier=${value}`, body);
      await ask('PATCH', `/Patient?identifier=${value}`, patch, { 'content-type': 'application/json-patch+json' });
      await ask('DELETE', `/Patient?identifier=${value}`);
      await ask('PUT', `/Patient/${patient.id}`, { ...body, id: patient.id });
      const stored = resourceIn('Patient', await medplum('portal-a', 'GET', `/Patient/${patient.id}`));
      expect(stored.meta?.versionId).toBe(patient.meta?.versionId);
    });

    it.each<[string, object]>([
      ['Subscription', { status: 'active', reason: 'x', criteria: 'Appointment', channel: { type: 'websocket' } }],
      [
        'Subscription',
        {
          status: 'active',
          reason: 'x',
          criteria: 'Patient',
          channel: { type: 'rest-hook', endpoint: 'https://example.org' },
        },
      ],
      ['Communication', { status: 'completed' }],
      ['Binary', { contentType: 'text/plain' }],
      ['Group', { type: 'person', actual: true }],
    ])('cannot have Medplum tell it of them by a %s of its own', async (resourceType, elements) => {
      expect((await ask('POST', `/${resourceType}`, { resourceType, meta: own.meta, ...elements })).status).toBe(403);
    });

    it.each(['$export', 'Patient/$export', 'Group/any/$export'])('%s: refused', async (operation) => {
      expect((await ask('GET', `/${operation}`)).status).toBeGreaterThanOrEqual(400);
    });

    it('administration of the project and the server: refused', async () => {
      const server = medplumBase.replace(/fhir\/R4$/, '');
      for (const path of ['admin/projects/any', 'admin/super/reindex', 'scim/v2/Users']) {
        const method = path.endsWith('reindex') ? 'POST' : 'GET';
        const headers = {
          authorization: `Bearer ${await tokenOf('portal-b', 'medplum')}`,
          'content-type': 'application/json',
        };
        const response = await fetch(`${server}${path}`, { method, headers, ...(method === 'POST' && { body: '{}' }) });
        expect({ path, refused: response.status >= 400 && response.status < 500 }).toEqual({ path, refused: true });
      }
    });
  });
});

const execute = (name: string, body: unknown, role: Role = 'portal-a') =>
  medplum(role, 'POST', `/Bot/$execute?identifier=${artefactUri(config, 'LocalBot')}|${name}`, {
    body,
    headers: { 'content-type': 'application/json', ...privateHeaders },
  });

/** Headers of the gateway for its Bots, as a portal could forge them. */
const privateHeaders = {
  [ANSWER_HEADER]: AS_PARAMETERS,
  [VERSION_HEADER]: '*',
  [LEADS_HEADER]: JSON.stringify({ Slot: ['__proto__', '../Patient/a', 'Schedule/a?_has:x'], constructor: {} }),
};

/** Names that every JavaScript object has without having been given them. */
const inherited = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__'];

const hostile: readonly (readonly [what: string, body: unknown])[] = [
  ...inherited.map((name) => [name, { operation: name, interaction: name, resourceType: name, id: name }] as const),
  ['lists of inherited names', { operation: inherited, interaction: inherited, parameter: inherited }],
  ['nothing', {}],
  ['a list', []],
  ['a list of nothing', [null]],
  ['parameters of nothing', { resourceType: 'Parameters', parameter: [null, { name: 'constructor' }] }],
  ['parameters that are no list', { resourceType: 'Parameters', parameter: { name: 'id', valueId: 'x' } }],
  ['an id of every task', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: '' }] }],
  ['an id that is a search', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: 'a&status=x' }] }],
  ['an interaction without a resource', { interaction: 'create', operation: 'status', ids: 'a', since: 'b' }],
  ['an interaction with an id that climbs', { interaction: 'delete', operation: 'events', id: '../Patient/a' }],
];

const named = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter });

/** What a Bot would do much with, were it true. */
const crafted: readonly (readonly [what: string, body: unknown])[] = [
  [
    'a token of nobody',
    named({ name: 'token', valueString: `t1.${'0'.repeat(64)}` }, { name: 'answer', valueCode: 'come' }),
  ],
  ['a link of nobody', named({ name: 'token', valueString: `../Task?x.${'0'.repeat(64)}` })],
  [
    'an absence',
    named(
      ...['actor', 'schedule'].map((name) => ({ name, valueReference: { reference: 'Schedule/a' } })),
      ...['start', 'end'].map((name) => ({ name, valueInstant: minutes(0) })),
      { name: 'action', valueCode: 'make' },
    ),
  ],
  [
    'a search without end',
    named(
      { name: 'start', valueInstant: '0001-01-01T00:00:00Z' },
      { name: 'end', valueInstant: '9999-12-31T23:59:59Z' },
    ),
  ],
  ['numbers without end', named({ name: 'count', valueInteger: 1e308 }, { name: 'capacity', valueInteger: -1 })],
  [
    'an appointment of nothing',
    { resourceType: 'Appointment', slot: [null, { reference: 'Slot/..' }], participant: {} },
  ],
  ['an appointment in each part', named({ name: 'appt-resource', resource: named({ name: 'appt-resource' }) })],
  [
    'a patch of nothing',
    named({ name: 'id', valueId: 'a' }, { name: 'patch', valueString: '[{"op":"move","from":"/","path":"/"}]' }),
  ],
];

/** A portal that has nothing yet. */
const aStranger = once(() => standIn('portal-a'));

describe.each(callableBots)('the Bot %s, called past the gateway', (name) => {
  it('answers a resource or a refusal to whatever it is sent, nothing of its own, and writes nothing', async () => {
    const client = await aStranger();
    for (const [what, body] of [...hostile, ...crafted]) {
      const response = await execute(name, body);
      expect([what, response.text]).not.toEqual([
        what,
        expect.stringMatching(/accessToken|clientSecret|Bearer|eyJ[\w-]+\./),
      ]);
      expect([what, response.body]).toMatchObject([
        what,
        { resourceType: expect.stringMatching(/^(OperationOutcome|Bundle)$/) },
      ]);
      expect([what, [200, 400, 403, 404, 409, 422]]).toEqual([what, expect.arrayContaining([response.status])]);
    }
    const tag = `${artefactUri(config, 'LocalRequestor')}|${client.id}`;
    for (const type of ['Appointment', 'Patient', 'Subscription', 'QuestionnaireResponse', 'Task'] as const) {
      expect(await stored(type, `_tag=${encodeURIComponent(tag)}`)).toEqual([]);
    }
  });
});

const startedByMedplum = Object.keys(bots).filter((name) => !callableBots.some((callable) => callable === name));

it.each(startedByMedplum)('the Bot %s, which Medplum starts, no portal can call', async (name) => {
  expect((await execute(name, {})).status).toBe(404);
});

/** A search that finds a patient of portal B, and no other. */
async function aSearch(): Promise<string> {
  const value = randomUUID();
  await aPatient('portal-b', { identifier: [{ system: 'https://example.org/patients', value }] });
  return `Patient?identifier=${value}`;
}

type Sent = (reference: string) => readonly [appointment: object, ...others: (readonly [string, object])[]];

describe('a reference that is a search is refused', () => {
  it.each<[string, Sent, string]>([
    [
      'in the appointment',
      (reference) => [{ reasonReference: [{ reference }] }],
      'Parameters.parameter[0].resource.reasonReference[0].reference',
    ],
    [
      'in an extension',
      (reference) => [{ extension: [{ url: 'https://example.org/x', valueReference: { reference } }] }],
      'Parameters.parameter[0].resource.extension[0].valueReference.reference',
    ],
    [
      'in the patient',
      (reference) => [
        { participant: [{ actor: { reference: '#new' }, status: 'accepted' }] },
        ['patient', { resourceType: 'Patient', id: 'new', link: [{ type: 'seealso', other: { reference } }] }],
      ],
      'Parameters.parameter[1].resource.link[0].other.reference',
    ],
    [
      'in the answers',
      (reference) => [{}, ['patientSubmittedInformation', { ...answers, source: { reference } }]],
      'Parameters.parameter[1].resource.source.reference',
    ],
  ])('%s of a booking', async (_, sent, expression) => {
    const { schedule, slot, patient } = await aClinic();
    const [appointment, ...others] = sent(await aSearch());
    const response = await book(parameters({ ...proposed(patient, [slot]), ...appointment }, ...others));
    expect(refusalOf(response)).toEqual([400, `malformed-request ${expression}`]);
    expect(isActionable(response)).toBe(true);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('also if it finds nothing, and asynchronously', async () => {
    const { slot, patient } = await aClinic();
    const body = { ...proposed(patient, [slot]), reasonReference: [{ reference: 'Patient?family=nobody' }] };
    for (const prefer of ['return=minimal', 'respond-async']) {
      const response = await book(body, 'portal-a', { prefer });
      const expression = 'Appointment.reasonReference[0].reference';
      expect(refusalOf(response)).toEqual([400, `malformed-request ${expression}`]);
    }
  });

  it('by PATCH', async () => {
    const { id } = await aBooking();
    const value = [{ reference: await aSearch() }];
    const response = await patch(id, [{ op: 'add', path: '/reasonReference', value }]);
    expect(refusalOf(response)).toEqual([400, 'patch-invalid Appointment.reasonReference[0].reference']);
    const stored = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`));
    expect(stored.reasonReference).toBeUndefined();
  });

  it('in a Patient', async () => {
    const own = await aPatient();
    const link = [{ type: 'seealso', other: { reference: await aSearch() } }];
    for (const [method, path, id] of [
      ['POST', '/Patient', undefined],
      ['PUT', `/Patient/${own.id}`, own.id],
    ] as const) {
      const response = await request('portal-a', method, path, { body: { resourceType: 'Patient', id, link } });
      expect(refusalOf(response)).toEqual([400, 'malformed-request Patient.link[0].other.reference']);
    }
  });

  it('in a Subscription', async () => {
    const extension = [{ url: 'https://example.org/x', valueReference: { reference: await aSearch() } }];
    const body = subscription('https://example.org/hook', { more: { extension } });
    const response = await request('portal-a', 'POST', '/Subscription', { body });
    expect(refusalOf(response)).toEqual([400, 'malformed-request Subscription.extension[0].valueReference.reference']);
  });
});
