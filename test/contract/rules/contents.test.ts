import { describe, expect, it } from '@jest/globals';
import type { Appointment, Meta } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { REPLACES } from '../../../core/fhir/reserved.ts';
import { aClinic, aPatient, appointmentsOn, book, parameters, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { type Answer, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';
import { submit, subscription } from '../notifications/fixtures.ts';

describe('inherited names', () => {
  /** Names that every JavaScript object has: an element of this name is taken for one that exists. */
  const names = ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'toLocaleString'] as const;
  const jsonPatch = { headers: { 'content-type': 'application/json-patch+json' } };

  describe.each(names)('an element %s, which FHIR does not have, is refused', (name) => {
    it('in a Patient', async () => {
      const body = { resourceType: 'Patient', name: [{ family: 'X', [name]: 'x' }] };
      const answer = await request('portal-a', 'POST', '/Patient', { body });
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, `malformed-request Patient.name[0].${name}`]);
      const patient = await aPatient();
      const put = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, [name]: 'x' } });
      expect([put.status, ...issuesOf(put)]).toEqual([400, `malformed-request Patient.${name}`]);
    });

    it('in $book', async () => {
      const { slot, patient } = await aClinic();
      const participant = [{ status: 'accepted', actor: { reference: `Patient/${patient.id}`, [name]: {} } }];
      const inAppointment = await book({ ...proposed(patient, [slot]), participant });
      expect([inAppointment.status, ...issuesOf(inAppointment)]).toEqual([
        400,
        `malformed-request Appointment.participant[0].actor.${name}`,
      ]);
      const sent = { ...proposed(patient, [slot]), participant: undefined };
      const inPatient = await book(parameters(sent, ['patient', { resourceType: 'Patient', [name]: 'x' }]));
      expect([inPatient.status, ...issuesOf(inPatient)]).toEqual([
        400,
        `malformed-request Parameters.parameter[1].resource.${name}`,
      ]);
    });

    it('in what a PATCH makes of an Appointment', async () => {
      const { slot, patient } = await aClinic();
      const appointment = succeeded('Appointment', await book(proposed(patient, [slot])));
      for (const path of ['', '/meta', '/participant/0', '/participant/0/actor']) {
        const body = [{ op: 'add', path: `${path}/${name}`, value: 'x' }];
        const answer = await request('portal-a', 'PATCH', `/Appointment/${appointment.id}`, { body, ...jsonPatch });
        expect([answer.status, issuesOf(answer).every((issue) => issue.startsWith('patch-invalid'))]).toEqual([
          400,
          true,
        ]);
      }
      const now = await request('portal-a', 'GET', `/Appointment/${appointment.id}`);
      expect(resourceIn('Appointment', now)).toEqual(appointment);
    });

    it('in a Subscription, and where text is expected', async () => {
      const sent = subscription('https://example.com/notifications');
      const added = await submit({ ...sent, channel: { ...sent.channel, [name]: 'x' } });
      expect([added.status, ...issuesOf(added)]).toEqual([400, `malformed-request Subscription.channel.${name}`]);
      const object = { [name]: 1, toString: 1 };
      const channel = { type: object, endpoint: object, payload: object, header: [object] };
      const objects = await submit({ ...sent, status: object, criteria: object, end: object, channel });
      expect(objects.status).toBe(400);
      expect(objects.text.length).toBeLessThan(20_000);
    });
  });

  it('a value of an operation that is an object of such names counts as absent', async () => {
    const parameter = [
      { name: 'id', valueId: { toString: 1 } },
      { name: 'status', valueCode: [[{ valueOf: 1 }]] },
      null,
    ];
    const body = { resourceType: 'Parameters', parameter };
    const answer = await request('portal-a', 'POST', '/Subscription/$status', { body });
    expect([answer.status, resourceIn('Bundle', answer).type]).toEqual([200, 'searchset']);
  });
});

const late = '9999-12-31T23:59:59-05:00';
const early = '0001-01-01T00:30:00+01:00';

it.each([
  ['2031-01-06T09:00:00+01:00', '2031-01-06T09:30:00+01:00'],
  ['2031-01-06T08:00:00Z', '2031-01-06T08:30:00.000Z'],
  ['2031-01-05T22:00:00-10:00', '2031-01-06T21:30:00+13:00'],
])('instants are compared as instants, and stored in UTC (%s to %s)', async (start, end) => {
  const { slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [slot], { start, end }));
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer)).toMatchObject({
    start: '2031-01-06T08:00:00.000Z',
    end: '2031-01-06T08:30:00.000Z',
  });
});

it.each([late, early])(
  'instants outside of the years 0001 to 9999 are malformed, at every door (%s)',
  async (instant) => {
    const { slot, patient } = await aClinic();
    const booked = succeeded('Appointment', await book(proposed(patient, [slot])));
    const times = instant === late ? { end: instant } : { start: instant };
    const body = proposed(patient, [slot], times);
    const patch = (name: string, value: unknown) =>
      request('portal-a', 'PATCH', `/Appointment/${booked.id}`, {
        body: [{ op: 'add', path: `/${name}`, value }],
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const encoded = encodeURIComponent(instant);
    const answers = await Promise.all([
      book(body),
      book(body, 'portal-a', { prefer: 'respond-async' }),
      book({ ...proposed(patient, [slot]), created: instant }),
      request('portal-a', 'POST', '/Appointment/$hold', { body }),
      patch('created', instant),
      patch('requestedPeriod', [{ end: instant }]),
      request('portal-a', 'GET', `/Slot?start=ge${encoded}`),
      request('portal-a', 'GET', `/Appointment?date=${encoded}`),
      request('portal-a', 'GET', `/Appointment?_lastUpdated=lt${encoded}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  },
);

describe('narratives', () => {
  const xhtml = (inner: string) => ({
    status: 'additional' as const,
    div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
  });

  const safe = xhtml('<p>Please <b>ring</b> twice.</p>');
  const active = xhtml('<img src="#x" onerror="alert(1)"/>');
  const endless = { status: 'additional' as const, div: '<'.repeat(30_000) };
  const parameters = (...parameter: readonly object[]) => ({ resourceType: 'Parameters', parameter });

  describe('a narrative that is safe is stored as it is', () => {
    it('in a Patient', async () => {
      const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', text: safe } });
      expect(succeeded('Patient', answer).text).toEqual(safe);
    });

    it('in an Appointment', async () => {
      const { slot, patient } = await aClinic();
      const answer = await book(proposed(patient, [slot], { text: safe }));
      expect(succeeded('Appointment', answer).text).toEqual(safe);
    });
  });

  describe.each([
    ['active', active],
    ['endless', endless],
  ])('a narrative that is %s is refused, and nothing is stored', (_, text) => {
    it('in a Patient that is created', async () => {
      const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', text } });
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
    });

    it('in a Patient that is written to Medplum itself', async () => {
      const { id: _, ...own } = await aPatient();
      expect((await medplum('portal-a', 'POST', '/Patient', { body: own })).status).toBe(201);
      expect((await medplum('portal-a', 'POST', '/Patient', { body: { ...own, text } })).status).toBeGreaterThan(399);
    });

    it('in what a Patient contains', async () => {
      const contained = [{ resourceType: 'Organization', id: 'o', name: 'O', text }];
      const body = { resourceType: 'Patient', contained, managingOrganization: { reference: '#o' } };
      const answer = await request('portal-a', 'POST', '/Patient', { body });
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.contained[0].text.div']);
    });

    it('in a section of what a Patient contains', async () => {
      const section = [{ title: 'x', section: [{ text }] }];
      const contained = [{ resourceType: 'Composition', id: 'c', section }];
      const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', contained } });
      expect([answer.status, ...issuesOf(answer)]).toEqual([
        422,
        'profile-violation Patient.contained[0].section[0].section[0].text.div',
      ]);
    });

    it('in a Patient that is replaced', async () => {
      const patient = await aPatient();
      const answer = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, text } });
      expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
    });

    it('in every resource of $book', async () => {
      const { slot } = await aClinic();
      const appointment = { ...proposed(await aPatient(), [slot], { text }), participant: [] };
      const participant = [
        { status: 'needs-action', actor: { reference: 'urn:uuid:a8e2ee0e-9a0c-4b1f-8f3e-0f6a4a1c6a01' } },
      ];
      const answers = {
        resourceType: 'QuestionnaireResponse',
        status: 'completed',
        item: [{ linkId: '1', text: 'Q' }],
        text,
      };
      const answer = await book(
        parameters(
          { name: 'appt-resource', resource: { ...appointment, participant } },
          { name: 'patient', resource: { resourceType: 'Patient', text } },
          { name: 'related-person', resource: { resourceType: 'RelatedPerson', text } },
          { name: 'patientSubmittedInformation', resource: answers },
        ),
      );
      const found = issuesOf(answer).filter((issue) => issue.startsWith('profile-violation'));
      expect(answer.status).toBe(422);
      expect(found).toEqual(
        [0, 1, 2, 3].map((index) => `profile-violation Parameters.parameter[${index}].resource.text.div`),
      );
      expect(await appointmentsOn(slot)).toEqual([]);
    });

    it('in what a PATCH makes of an Appointment: 400', async () => {
      const { slot, patient } = await aClinic();
      const { id } = succeeded('Appointment', await book(proposed(patient, [slot])));
      const answer = await request('portal-a', 'PATCH', `/Appointment/${id}`, {
        headers: { 'content-type': 'application/json-patch+json' },
        body: [{ op: 'add', path: '/text', value: text }],
      });
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'profile-violation Appointment.text.div']);
    });
  });

  it('a narrative in XML is judged alike', async () => {
    const answer = await request('portal-a', 'POST', '/Patient', {
      headers: { 'content-type': 'application/fhir+xml' },
      body: `<Patient xmlns="http://hl7.org/fhir"><text><status value="additional"/>${active.div}</text></Patient>`,
    });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
  });
});

const id = (reference: string): string => reference.split('/')[1] ?? '';

it.each([
  ['Type/id', (reference: string) => reference],
  ['{base}/Type/id', (reference: string) => `${base}/${reference}`],
  ['a version of it', (reference: string) => `${reference}/_history/1`],
  ['an absolute version of it', (reference: string) => `${base}/${reference}/_history/1`],
])('%s is accepted and stored as Type/id', async (_, spelt) => {
  const { slot, patient } = await aClinic();
  const answer = await book(
    proposed(patient, [], {
      slot: [{ reference: spelt(`Slot/${slot.id}`) }],
      participant: [{ actor: { reference: spelt(`Patient/${patient.id}`) }, status: 'accepted' }],
    }),
  );
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer)).toMatchObject({
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: [{ actor: { reference: `Patient/${patient.id}` } }],
  });
});

it('a bare id is accepted in Appointment.slot', async () => {
  const { slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [], { slot: [{ reference: slot.id ?? '' }] }));
  expect(answer.status).toBe(201);
});

it.each([
  ["another server's", (reference: string) => ({ reference: `https://elsewhere.example/fhir/${reference}` })],
  ['an identifier alone', () => ({ identifier: { system: 'urn:x', value: '1' } })],
  ['a query', (reference: string) => ({ reference: `Slot?_id=${id(reference)}` })],
  ['a path that climbs', (reference: string) => ({ reference: `Slot/../${reference}` })],
  ['an encoded path', (reference: string) => ({ reference: `Slot%2F${id(reference)}` })],
])('%s reference is refused', async (_, spelt) => {
  const { schedule, slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [], { slot: [spelt(`Slot/${slot.id}`)] }));
  expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request Appointment.slot[0]']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

describe('reserved', () => {
  const codesOf = (answer: Answer): string[] => issuesOf(answer).map((issue) => issue.split(' ')[0] ?? '');
  const ownerSystem = artefactUri(config, 'LocalRequestor');

  const ownerOf = ({ meta }: { meta?: Meta | undefined }): string =>
    meta?.tag?.find(({ system }) => system === ownerSystem)?.code ?? '';

  const jsonPatch = (
    id: string | undefined,
    operations: readonly object[],
    role: 'portal-a' | 'portal-b' = 'portal-a',
  ) =>
    request(role, 'PATCH', `/Appointment/${id}`, {
      body: operations,
      headers: { 'content-type': 'application/json-patch+json' },
    });

  const aBooking = async (more: Partial<Appointment> = {}): Promise<Appointment> => {
    const { slot, patient } = await aClinic();
    return resourceIn('Appointment', await book(proposed(patient, [slot], more)));
  };

  describe("the service's own tags, extensions and identifiers in $book", () => {
    it("another owner's tag in another letter case is dropped: the other neither reads nor confirms", async () => {
      const other = ownerOf(await aPatient('portal-b'));
      const { slot, patient } = await aClinic();
      const tag = [{ system: ownerSystem.toLowerCase(), code: other }];
      const { id, meta } = resourceIn('Appointment', await book(proposed(patient, [slot], { meta: { tag } })));
      expect(meta?.tag?.filter(({ code }) => code === other)).toEqual([]);
      expect((await request('portal-b', 'GET', `/Appointment/${id}`)).status).toBe(404);
      const answer = await jsonPatch(id, [{ op: 'replace', path: '/status', value: 'fulfilled' }], 'portal-b');
      expect(answer.status).toBe(404);
    });

    it('a forged replacement and an identifier of the service are dropped', async () => {
      const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toUpperCase(), value: '1' }];
      const extension = [{ url: REPLACES, valueReference: { reference: 'Appointment/1' } }];
      const booked = await aBooking({ identifier, extension });
      expect([booked.identifier, booked.extension]).toEqual([undefined, undefined]);
    });

    it('so are replacements sent twice or as text, and a tag external sent twice is there once', async () => {
      const external = { system: config.metaTagSystem, code: 'external' };
      const reference = { url: REPLACES, valueReference: { reference: 'Appointment/1' } };
      const extension = [reference, reference, { url: REPLACES, valueString: 'Appointment/1' }];
      const booked = await aBooking({ extension, meta: { tag: [external, external] } });
      expect(booked.extension).toBeUndefined();
      expect(booked.meta?.tag?.filter(({ system }) => system === external.system)).toEqual([external]);
    });

    it('those of a patient that is handed over are dropped', async () => {
      const { slot } = await aClinic();
      const tag = [{ system: ownerSystem.toUpperCase(), code: 'somebody' }];
      const patient = { resourceType: 'Patient', meta: { tag }, name: [{ family: 'Tagged' }] };
      const answer = await book(
        parameters({ ...proposed({ resourceType: 'Patient' }, [slot]), participant: undefined }, ['patient', patient]),
      );
      const reference = resourceIn('Appointment', answer).participant[0]?.actor?.reference;
      const stored = resourceIn('Patient', await request('portal-a', 'GET', `/${reference}`));
      expect(stored.meta?.tag?.filter(({ code }) => code === 'somebody')).toEqual([]);
    });
  });

  describe('PATCH leaves to the service what is its own: 400 immutable-element', () => {
    const tags = ({ meta }: Appointment) => meta?.tag ?? [];
    it.each<[string, (booked: Appointment) => object]>([
      [
        'an owner besides',
        (booked) => ({
          op: 'add',
          path: '/meta/tag',
          value: [...tags(booked), { system: ownerSystem.toLowerCase(), code: 'b' }],
        }),
      ],
      [
        'no tag external',
        (booked) => ({ op: 'add', path: '/meta/tag', value: tags(booked).filter(({ code }) => code !== 'external') }),
      ],
      ['security labels', () => ({ op: 'add', path: '/meta/security', value: [{ system: 'urn:x', code: 'R' }] })],
      [
        'a forged replacement',
        () => ({
          op: 'add',
          path: '/extension',
          value: [{ url: REPLACES, valueReference: { reference: 'Appointment/1' } }],
        }),
      ],
      ["the patient's display", () => ({ op: 'add', path: '/participant/0/actor/display', value: 'Somebody else' })],
      [
        "the patient's identifier",
        () => ({ op: 'add', path: '/participant/0/actor/identifier', value: { value: '1' } }),
      ],
      ["the patient's type", () => ({ op: 'add', path: '/participant/0/actor/type', value: 'Patient' })],
    ])('%s', async (_, operation) => {
      const booked = await aBooking();
      const answer = await jsonPatch(booked.id, [operation(booked)]);
      expect([answer.status, codesOf(answer)]).toEqual([400, ['immutable-element']]);
      expect((await request('portal-a', 'GET', `/Appointment/${booked.id}`)).body).toEqual(booked);
    });
  });

  describe('answers that the caller may not read', () => {
    const foreignAnswers = async (): Promise<string> => {
      const { slot } = await aClinic();
      const patient = await aPatient('portal-b');
      const response = {
        resourceType: 'QuestionnaireResponse',
        status: 'completed',
        text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
        item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
      };
      const body = parameters(proposed(patient, [slot]), ['patientSubmittedInformation', response]);
      return resourceIn('Appointment', await book(body, 'portal-b')).supportingInformation?.[0]?.reference ?? '';
    };

    it('are not attached by $book (422) or PATCH (400): profile-violation', async () => {
      const supportingInformation = [{ reference: await foreignAnswers() }];
      expect(supportingInformation[0]?.reference).toMatch(/^QuestionnaireResponse\//);
      const { slot, patient } = await aClinic();
      const refused = await book(proposed(patient, [slot], { supportingInformation }));
      expect([refused.status, codesOf(refused)]).toEqual([422, ['profile-violation']]);
      const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
      const patched = await jsonPatch(id, [
        { op: 'add', path: '/supportingInformation', value: supportingInformation },
      ]);
      expect([patched.status, codesOf(patched)]).toEqual([400, ['profile-violation']]);
    });
  });

  describe('a patient that is created or updated', () => {
    it('loses what the service alone sets, and keeps whose it is', async () => {
      const tag = [{ system: ownerSystem.toUpperCase(), code: 'somebody' }];
      const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toLowerCase(), value: '1' }];
      const created = await aPatient('portal-a', { meta: { tag }, identifier });
      expect(created.identifier).toBeUndefined();
      const owner = ownerOf(created);
      const body = { ...created, meta: { tag: [...tag, { system: ownerSystem, code: 'somebody' }] }, identifier };
      const answer = await request('portal-a', 'PUT', `/Patient/${created.id}`, { body });
      const updated = resourceIn('Patient', answer);
      expect([answer.status, updated.identifier, ownerOf(updated)]).toEqual([200, undefined, owner]);
      expect(updated.meta?.tag?.filter(({ code }) => code === 'somebody')).toEqual([]);
    });

    it('is refused with implicitRules or an unknown modifierExtension: 400 malformed-request', async () => {
      const created = await aPatient();
      for (const more of [{ implicitRules: 'urn:x' }, { modifierExtension: [{ url: 'urn:x', valueString: 'x' }] }]) {
        const body = { resourceType: 'Patient', ...more };
        const answers = [
          await request('portal-a', 'POST', '/Patient', { body }),
          await request('portal-a', 'PUT', `/Patient/${created.id}`, { body: { ...body, id: created.id } }),
        ];
        expect(answers.map((answer) => [answer.status, codesOf(answer)])).toEqual(
          answers.map(() => [400, ['malformed-request']]),
        );
      }
    });
  });
});
