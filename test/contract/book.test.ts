/** What one caller books: what is taken as it was meant, and what becomes of it. Refusals are in `refused.test.ts`. */
import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Meta, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { SERVICE_TYPE_REFERENCE } from '../../core/fhir/reference.ts';
import { REPLACES } from '../../core/fhir/tags.ts';
import { toXml } from '../../core/fhir/xml/write.ts';
import { readXml } from '../lib/read-xml.ts';
import {
  aClinic,
  answers,
  aPatient,
  aSchedule,
  aSlot,
  book,
  ct,
  minutes,
  onSchedule,
  parameters,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { type Answer, isActionable, issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { base, config, tokenOf } from './installation.ts';
import { submit, subscription } from './notifications/fixtures.ts';
import { aBooking, fhirPathPatch, patch, replacing } from './patch/fixtures.ts';

const many = <T>(count: number, entry: T): T[] => Array.from({ length: count }, () => entry);
const noon = '2031-01-06T12:00:00Z';

it('confirmed: 201, Location, the Appointment with status booked, its slot busy', async () => {
  const { schedule, slot, patient } = await aClinic();
  const response = await book(proposed(patient, [slot], { comment: 'Left knee' }));
  const booked = resourceIn('Appointment', response);
  expect([response.status, response.headers.get('etag')]).toEqual([201, `W/"${booked.meta?.versionId}"`]);
  expect(response.headers.get('location')).toMatch(new RegExp(`^${base}/Appointment/${booked.id}(/_history/[^/]+)?$`));
  expect(Date.parse(response.headers.get('last-modified') ?? '')).toBeGreaterThan(0);
  expect(booked).toMatchObject({ status: 'booked', comment: 'Left knee', slot: [{ reference: `Slot/${slot.id}` }] });
  expect([await stored('Appointment', `_id=${booked.id}`), await slotsOf(schedule)]).toEqual([[booked], ['busy 0-30']]);
});

const confirmation = (code: string) => [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }];

// biome-ignore format: a row a line
it.each<[string, string, (service: string, automatic: string) => Partial<Schedule>]>([
  ['the schedule', 'pending', () => ({ extension: confirmation('manual') })],
  ['its HealthcareService', 'pending', (service) => ({ actor: [{ reference: service }] })],
  ['the stricter of its HealthcareServices', 'pending', (...both) => ({ actor: both.reverse().map((reference) => ({ reference })) })],
  ['the schedule before the service', 'booked', (service) => ({ actor: [{ reference: service }], extension: confirmation('automatic') })],
  ['the HealthcareService of its service type', 'pending', (service) => ({ serviceType: [{ ...ct, extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: service } }] }] })],
])('confirmed or not as %s says: %s', async (_, status, scheduled) => {
  const serviceFor = async (code: string) => {
    const body = { resourceType: 'HealthcareService', name: 'CT', extension: confirmation(code) };
    const response = await medplum('front-desk', 'POST', '/HealthcareService', { body });
    return `HealthcareService/${succeeded('HealthcareService', response).id}`;
  };
  const services = await Promise.all([serviceFor('manual'), serviceFor('automatic')] as const);
  const { schedule, slot, patient } = await aClinic(scheduled(...services));
  const response = await book(proposed(patient, [slot]));
  expect([response.status, resourceIn('Appointment', response).status]).toEqual([status === 'booked' ? 201 : 202, status]);
  expect(await slotsOf(schedule)).toEqual([status === 'booked' ? 'busy 0-30' : 'busy-tentative 0-30']);
});

describe('the request may be spelt otherwise', () => {
  // biome-ignore format: a row a line
  it.each<[string, (appointment: Appointment) => ReturnType<typeof book>]>([
    ['Parameters with appointment', (appointment) => book({ resourceType: 'Parameters', parameter: [{ name: 'appointment', resource: appointment }] })],
    ['an encoded dollar', (body) => request('portal-a', 'POST', '/Appointment/%24book', { body })],
    ['an id that is unknown', (appointment) => book({ ...appointment, id: randomUUID() })],
    ['a bare id in slot', (appointment) => book({ ...appointment, slot: [{ reference: appointment.slot?.[0]?.reference?.slice(5) }] })],
    ...['{}/_history/1', `${base}/{}`, `${base}/{}/_history/1`].map((spelt): [string, (appointment: Appointment) => ReturnType<typeof book>] => [
      `a reference as ${spelt}`,
      (appointment) => book(JSON.parse(JSON.stringify(appointment).replace(/"((?:Slot|Patient)\/[^"]+)"/g, (_, it) => `"${spelt.replace('{}', it)}"`))),
    ]),
    ['another offset', (appointment) => book({ ...appointment, start: '2031-01-06T09:00:00+01:00', end: '2031-01-06T09:30:00+01:00' })],
  ])('%s', async (_, send) => {
    const { slot, patient } = await aClinic();
    const response = await send(proposed(patient, [slot]));
    expect(response.status).toBe(201);
    expect(resourceIn('Appointment', response)).toMatchObject({
      status: 'booked',
      start: minutes(0),
      slot: [{ reference: `Slot/${slot.id}` }],
      participant: [{ actor: { reference: `Patient/${patient.id}` } }],
    });
  });

  it.each([
    ['2031-01-06T08:00:00Z', '2031-01-06T08:30:00.000Z'],
    ['2031-01-05T22:00:00-10:00', '2031-01-06T21:30:00+13:00'],
  ])('instants are compared as instants, and stored in UTC (%s to %s)', async (start, end) => {
    const { slot, patient } = await aClinic();
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { start, end })));
    expect(booked).toMatchObject({ start: '2031-01-06T08:00:00.000Z', end: '2031-01-06T08:30:00.000Z' });
  });

  it.each(['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', '0'])(
    'the clock of the client has no effect: Date: %s',
    async (date) => {
      const { slot, patient } = await aClinic();
      const past = { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' };
      expect(issuesOf(await book(proposed(patient, [slot], past), 'portal-a', { date }))).toContain(
        'start-in-past Appointment.start',
      );
      expect((await book(proposed(patient, [slot]), 'portal-a', { date })).status).toBe(201);
    },
  );
});

const newPatient = (more: Partial<Patient> = {}): Patient => ({
  resourceType: 'Patient',
  id: 'my-patient',
  identifier: [{ system: 'https://example.org/patients', value: randomUUID() }],
  name: [{ family: 'Neu' }],
  ...more,
});

const pointingAt = (reference: string) => ({
  participant: [{ actor: { reference, display: 'Neu' }, status: 'accepted' as const }],
});

describe('patient in the operation', () => {
  it.each([
    ['#id', pointingAt('#my-patient')],
    ['urn:uuid', pointingAt(`urn:uuid:${randomUUID()}`)],
    ['the id it was sent with', pointingAt('Patient/my-patient')],
    ['no participant at all', { participant: undefined }],
  ])('is created, tagged external, and is the participant (%s)', async (_, participants) => {
    const { slot, patient } = await aClinic();
    const response = await book(
      parameters({ ...proposed(patient, [slot]), ...participants }, ['patient', newPatient()]),
    );
    expect(response.status).toBe(201);
    const reference = resourceIn('Appointment', response).participant[0]?.actor?.reference ?? '';
    const created = resourceIn('Patient', await request('portal-a', 'GET', `/${reference}`));
    expect([created.name?.[0]?.family, created.meta?.profile]).toEqual(['Neu', [artefactUri(config, 'LocalPatient')]]);
    expect(created.meta?.tag).toContainEqual({ system: config.metaTagSystem, code: 'external' });
    expect((await request('portal-b', 'GET', `/${reference}`)).status).toBe(404);
  });

  it("with an identifier already submitted is that patient, and never another requestor's", async () => {
    const { slot, patient } = await aClinic();
    const again = newPatient({ identifier: patient.identifier ?? [] });
    const body = (on: Slot) => parameters(proposed(patient, [on], pointingAt('#my-patient')), ['patient', again]);
    const whoIn = (response: Answer) => resourceIn('Appointment', response).participant[0]?.actor?.reference;
    const other = await aClinic();
    expect(whoIn(await book(body(other.slot), 'portal-b'))).not.toBe(`Patient/${patient.id}`);
    expect(whoIn(await book(body(slot)))).toBe(`Patient/${patient.id}`);
    const { system, value } = patient.identifier?.[0] ?? {};
    expect(await stored('Patient', `identifier=${encodeURIComponent(`${system}|${value}`)}`)).toHaveLength(2);
  });

  it('who is refused with the booking is not left behind', async () => {
    const { slot, patient } = await aClinic();
    const name = [{ family: `Fort${randomUUID().slice(0, 8)}` }];
    expect((await book(parameters(proposed(patient, [slot]), ['patient', newPatient({ name })]))).status).toBe(422);
    expect(await stored('Patient', `name=${name[0]?.family}`)).toEqual([]);
  });

  it('related-person is created with patient set, and added as a participant', async () => {
    const { slot, patient } = await aClinic();
    const mother = { resourceType: 'RelatedPerson', patient: { reference: 'Patient/x' }, name: [{ family: 'Muster' }] };
    const booked = succeeded(
      'Appointment',
      await book(parameters(proposed(patient, [slot]), ['related-person', mother])),
    );
    expect(booked.participant).toHaveLength(2);
    const [created] = await stored('RelatedPerson', `_id=${booked.participant[1]?.actor?.reference?.split('/')[1]}`);
    expect(created?.patient.reference).toBe(`Patient/${patient.id}`);
  });
});

describe('patient-submitted answers', () => {
  it('are stored with the patient as subject, and linked from the appointment', async () => {
    const { slot, patient } = await aClinic();
    const photo = { contentType: 'image/jpeg', data: 'eHh4'.repeat(150_000) };
    const item = [...(answers.item ?? []), { linkId: '2', text: 'Photo', answer: [{ valueAttachment: photo }] }];
    const sent = parameters(proposed(patient, [slot]), ['patientSubmittedInformation', { ...answers, item }]);
    const [reference] = succeeded('Appointment', await book(sent)).supportingInformation ?? [];
    const read = resourceIn('QuestionnaireResponse', await request('portal-a', 'GET', `/${reference?.reference}`));
    expect(read).toMatchObject({
      item,
      questionnaire: answers.questionnaire,
      subject: { reference: `Patient/${patient.id}` },
    });
    expect((await request('portal-b', 'GET', `/${reference?.reference}`)).status).toBe(404);
  });

  it('that the caller may not read are not attached by $book (422) or PATCH (400)', async () => {
    const [theirs, clinic] = [await aClinic(), await aClinic()];
    const body = parameters(proposed(await aPatient('portal-b'), [theirs.slot]), [
      'patientSubmittedInformation',
      answers,
    ]);
    const { supportingInformation } = succeeded('Appointment', await book(body, 'portal-b'));
    const refused = await book({ ...proposed(clinic.patient, [clinic.slot]), supportingInformation });
    expect(refusalOf(refused)).toEqual([422, expect.stringContaining('profile-violation')]);
    const { id = '' } = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
    const patched = await patch(id, [{ op: 'add', path: '/supportingInformation', value: supportingInformation }]);
    expect(refusalOf(patched)).toEqual([400, expect.stringContaining('profile-violation')]);
  });
});

const bookOn = (id: string | undefined, appointment: object) =>
  book(onSchedule(id, { ...appointment, slot: undefined }));

/** Free slots of one minute each, from a minute on. */
async function minuteSlots({ id }: Schedule, from: number, count: number): Promise<void> {
  const entry = Array.from({ length: count }, (_, index) => ({
    request: { method: 'POST' as const, url: 'Slot' },
    resource: {
      ...{ resourceType: 'Slot' as const, schedule: { reference: `Schedule/${id}` }, status: 'free' as const },
      start: minutes(from + index),
      end: minutes(from + index + 1),
    },
  }));
  const body: Bundle = { resourceType: 'Bundle', type: 'batch', entry };
  expect((await medplum('front-desk', 'POST', '/', { body })).status).toBe(200);
}

describe('slots', () => {
  it('schedule without slots: the service finds the free slots itself and writes them to Appointment.slot', async () => {
    const { schedule, slot, patient } = await aClinic();
    const next = await aSlot(schedule, 30, 90);
    const booked = succeeded('Appointment', await bookOn(schedule.id, proposed(patient, [], { to: 60 })));
    expect(booked.slot?.map(({ reference }) => reference)).toEqual([`Slot/${slot.id}`, `Slot/${next.id}`]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60', 'free 60-90']);
  });

  it('a schedule of hundreds of slots: finds those of the requested time, fifty at most', async () => {
    const { schedule, patient } = await aClinic();
    await minuteSlots(schedule, 30, 210);
    for (const [from, to, count] of [
      [10, 40, 11],
      [230, 240, 10],
      [41, 91, 50],
    ] as const) {
      const booked = succeeded('Appointment', await bookOn(schedule.id, proposed(patient, [], { from, to })));
      expect(booked.slot).toHaveLength(count);
    }
    const tooMany = await bookOn(schedule.id, proposed(patient, [], { from: 91, to: 190 }));
    expect(refusalOf(tooMany)).toEqual([422, 'slot-mismatch Parameters.parameter[1].valueReference']);
    expect((await slotsOf(schedule)).filter((slot) => slot.startsWith('busy'))).toHaveLength(71);
  });

  it('of several schedules at the same time are one booking; if one is taken the other stays free', async () => {
    const { schedule: surgeon, slot, patient } = await aClinic();
    const room = await aSchedule();
    const [inRoom, taken] = [await aSlot(room, 0, 60), await aSlot(await aSchedule(), 0, 30, { status: 'busy' })];
    expect(refusalOf(await book(proposed(patient, [slot, taken])))).toEqual([409, 'slot-not-free Appointment.slot[1]']);
    expect(await slotsOf(surgeon)).toEqual(['free 0-30']);
    expect((await book(proposed(patient, [slot, inRoom]))).status).toBe(201);
    expect([await slotsOf(surgeon), await slotsOf(room)]).toEqual([['busy 0-30'], ['busy 0-30', 'free 30-60']]);
  });

  it('that follow one another are one booking; two of the same time are two places', async () => {
    const { schedule, slot, patient } = await aClinic();
    const next = await aSlot(schedule, 30, 60);
    expect((await book(proposed(patient, [slot, next], { to: 60 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60']);
    const twice = await aClinic();
    const second = await aSlot(twice.schedule, 0, 30);
    expect((await book(proposed(patient, [twice.slot]))).status).toBe(201);
    expect((await book(proposed(patient, [second]))).status).toBe(201);
  });

  it.each(['busy-tentative', 'busy-unavailable', 'entered-in-error'] as const)(
    'that staff have made %s are not free: 409',
    async (status) => {
      const { schedule, patient } = await aClinic();
      const response = await book(proposed(patient, [await aSlot(schedule, 60, 90, { status })], { from: 60, to: 90 }));
      expect(refusalOf(response)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    },
  );

  it('an appointment takes just its part; what is left is free, with what the clinic wrote, and booked in its turn', async () => {
    const identifier = [{ system: 'urn:clinic', value: 'room-3' }];
    const written = { end: noon, serviceType: [ct], comment: 'Bring your X-rays', identifier };
    const { schedule, slot, patient } = await aClinic({}, written);
    expect((await book(proposed(patient, [slot], { from: 60, to: 90 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-240']);
    // What is taken is taken from every service: its own comes back when it is free.
    const pieces = await stored('Slot', `schedule=Schedule/${schedule.id}&_sort=start`);
    expect(pieces.map(({ serviceType }) => serviceType?.[0]?.coding?.[0]?.code)).toEqual(['ct', undefined, 'ct']);
    expect(await stored('Slot', `_id=${slot.id}`)).toMatchObject([
      { comment: 'Bring your X-rays', identifier: expect.arrayContaining(identifier) },
    ]);
    expect((await book(proposed(patient, pieces.slice(2), { from: 120, to: 150 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-120', 'busy 120-150', 'free 150-240']);
  });

  it('a part keeps to the steps of its slot', async () => {
    const { slot, patient } = await aClinic({}, { end: noon });
    expect((await book(proposed(patient, [slot], { from: 5, to: 10 }))).status).toBe(201);
  });
});

const ownerSystem = artefactUri(config, 'LocalRequestor');
const ownersIn = ({ meta }: { meta?: Meta | undefined }) =>
  (meta?.tag ?? []).flatMap(({ system, code }) => (system?.toLowerCase() === ownerSystem.toLowerCase() ? [code] : []));

describe("the service's own tags, extensions and identifiers", () => {
  it("another owner's tag in another letter case is dropped: the other neither reads nor confirms", async () => {
    const [other = ''] = ownersIn(await aPatient('portal-b'));
    const { slot, patient } = await aClinic();
    const tag = [{ system: ownerSystem.toLowerCase(), code: other }];
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { meta: { tag } })));
    expect(ownersIn(booked)).toEqual(ownersIn(patient));
    expect((await request('portal-b', 'GET', `/Appointment/${booked.id}`)).status).toBe(404);
    expect(
      (await patch(booked.id ?? '', [{ op: 'replace', path: '/status', value: 'fulfilled' }], 'portal-b')).status,
    ).toBe(404);
  });

  it('forged replacements and identifiers of the service are dropped; a tag external sent twice is there once', async () => {
    const external = { system: config.metaTagSystem, code: 'external' };
    const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toUpperCase(), value: '1' }];
    const forged = { url: REPLACES, valueReference: { reference: 'Appointment/1' } };
    const extension = [forged, forged, { url: REPLACES, valueString: 'Appointment/1' }];
    const { booked } = await aBooking({ identifier, extension, meta: { tag: [external, external] } });
    expect([booked.identifier, booked.extension]).toEqual([undefined, undefined]);
    expect(booked.meta?.tag?.filter(({ system }) => system === external.system)).toEqual([external]);
  });

  it('a patient that is handed over, created or updated loses them, and keeps whose it is', async () => {
    const tag = [{ system: ownerSystem.toUpperCase(), code: 'somebody' }];
    const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toLowerCase(), value: '1' }];
    const { slot, patient } = await aClinic();
    const sent = { resourceType: 'Patient', meta: { tag }, name: [{ family: 'Tagged' }] };
    const booked = succeeded(
      'Appointment',
      await book(parameters({ ...proposed(patient, [slot]), participant: undefined }, ['patient', sent])),
    );
    const handedOver = await request('portal-a', 'GET', `/${booked.participant[0]?.actor?.reference}`);
    const created = await aPatient('portal-a', { meta: { tag }, identifier });
    const body = { ...created, meta: { tag: [...tag, { system: ownerSystem, code: 'somebody' }] }, identifier };
    const updated = succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${created.id}`, { body }));
    for (const one of [resourceIn('Patient', handedOver), created, updated]) {
      expect([ownersIn(one), one.identifier]).toEqual([ownersIn(patient), undefined]);
    }
  });
});

describe('narratives and values', () => {
  const xhtml = (inner: string) => ({
    status: 'additional' as const,
    div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
  });

  it('a narrative that is safe is stored as it is', async () => {
    const safe = xhtml('<p>Please <b>ring</b> twice.</p>');
    const response = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', text: safe } });
    expect([succeeded('Patient', response).text, (await aBooking({ text: safe })).booked.text]).toEqual([safe, safe]);
  });

  it('one that is active or endless does not even reach Medplum itself', async () => {
    const { id: _, ...own } = await aPatient();
    expect((await medplum('portal-a', 'POST', '/Patient', { body: own })).status).toBe(201);
    for (const text of [
      xhtml('<img src="#x" onerror="alert(1)"/>'),
      { status: 'additional', div: '<'.repeat(30_000) },
    ]) {
      expect((await medplum('portal-a', 'POST', '/Patient', { body: { ...own, text } })).status).toBeGreaterThan(399);
    }
  });

  it.each(['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'toLocaleString'])(
    'in a Subscription an element %s is refused, and an object where text is expected',
    async (name) => {
      const sent = subscription('https://example.com/notifications');
      const added = await submit({ ...sent, channel: { ...sent.channel, [name]: 'x' } });
      expect(refusalOf(added)).toEqual([400, `malformed-request Subscription.channel.${name}`]);
      const object = { [name]: 1, toString: 1 };
      const channel = { type: object, endpoint: object, payload: object, header: [object] };
      const objects = await submit({ ...sent, status: object, criteria: object, end: object, channel });
      expect([objects.status, objects.text.length < 20_000]).toEqual([400, true]);
    },
  );

  it('what a patch makes may not grow too large, nor a FHIRPath Patch cost too much: 400 patch-invalid', async () => {
    const { id } = await aBooking({ specialty: many(800, { coding: [{ system: 'urn:x', code: 'x' }] }), comment: 'x' });
    const dear = replacing(`Appointment.specialty${".where(coding.code != 'x')".repeat(12)}.first()`, {
      valueString: 'y',
    });
    const refused = await patch(id, fhirPathPatch(...many(10, dear)));
    expect(refusalOf(refused)).toEqual([400, expect.stringContaining('patch-invalid')]);
    expect((await patch(id, fhirPathPatch(replacing('Appointment.comment', { valueString: 'y' })))).status).toBe(200);
    const small = await aBooking();
    const category = { coding: many(900, { code: 'x' }) };
    const grow = (path: string, value: unknown) => patch(small.id, [{ op: 'add', path, value }]);
    expect((await grow('/serviceCategory', [category])).status).toBe(200);
    expect((await grow('/serviceCategory/-', category)).status).toBe(200);
    expect(issuesOf(await grow('/serviceCategory/-', category))).toEqual([expect.stringContaining('patch-invalid')]);
  });

  it('as many identifiers as can be searched for are taken', async () => {
    const identifier = many(50, 0).map((_, index) => ({ system: 's'.repeat(200), value: `${index}`.padEnd(120, '|') }));
    expect((await aBooking({ identifier })).booked.identifier).toHaveLength(50);
  });
});

describe('XML', () => {
  const xml = { accept: 'application/fhir+xml', 'content-type': 'application/fhir+xml' } as const;

  /** The resource in an answer in XML. */
  function readIn({ headers, text: body }: Answer): unknown {
    expect(headers.get('content-type')).toBe('application/fhir+xml; charset=utf-8');
    const reading = readXml(body);
    return 'value' in reading ? reading.value : reading.issues;
  }

  it('books, reads, changes and answers in it', async () => {
    const { slot, patient } = await aClinic();
    const parameter = [{ name: 'appt-resource', resource: proposed(patient, [slot]) }];
    const body = toXml({ resourceType: 'Parameters', parameter });
    const response = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: xml });
    const booked = readIn(response);
    expect([response.status, booked]).toEqual([201, expect.objectContaining({ status: 'booked', start: slot.start })]);
    const path = response.headers.get('location')?.replace(base, '') ?? '';
    expect((await request('portal-a', 'GET', path)).body).toEqual(booked);
    const part = [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Appointment.status' },
      { name: 'value', valueCode: 'cancelled' },
    ];
    const sent = toXml({ resourceType: 'Parameters', parameter: [{ name: 'operation', part }] });
    const changed = await request('portal-a', 'PATCH', path, { body: sent, headers: xml });
    expect([changed.status, readIn(changed)]).toEqual([200, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('refuses in it, with everything that is wrong', async () => {
    const { schedule, slot, patient } = await aClinic();
    const wrong = '<status/><mood value="good"/>';
    const body = toXml(proposed(patient, [slot])).replace('<status value="proposed"/>', wrong);
    const response = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: xml });
    const issue = ['status', 'mood'].map((name) => expect.objectContaining({ expression: [`Appointment.${name}`] }));
    expect([response.status, readIn(response)]).toEqual([400, expect.objectContaining({ issue })]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });
});

it.each([
  ['return=minimal', ''],
  ['RETURN="minimal"; foo, wait=5', ''],
  ['return=OperationOutcome', 'OperationOutcome'],
  ['return=representation', 'representation'],
  ['handling=lenient', 'representation'],
])('Prefer: %s is honoured on every write', async (prefer, type) => {
  const { slot, patient } = await aClinic();
  const headers = { prefer };
  const body = { resourceType: 'Patient', name: [{ family: randomUUID() }] };
  const booked = await book(proposed(patient, [slot]), 'portal-a', headers);
  const id = booked.headers.get('location')?.split('/Appointment/')[1]?.split('/')[0] ?? '';
  const answered = [
    [booked, 201, 'Appointment'],
    [await patch(id, [{ op: 'add', path: '/comment', value: 'x' }], 'portal-a', headers), 200, 'Appointment'],
    [await request('portal-a', 'POST', '/Patient', { body, headers }), 201, 'Patient'],
    [
      await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...body, id: patient.id }, headers }),
      200,
      'Patient',
    ],
  ] as const;
  for (const [answer, status, resourceType] of answered) {
    const wanted = type === 'representation' ? resourceType : type;
    expect([answer.status, wanted ? resourceIn(wanted as 'Patient', answer).resourceType : answer.text]).toEqual([
      status,
      wanted,
    ]);
  }
});

describe('a batch of reads', () => {
  const send = async (urls: readonly (string | undefined)[], role: 'portal-a' | 'portal-b' = 'portal-a') => {
    const entry = urls.map((url) => ({ request: { method: 'GET', url } }));
    const answer = await request(role, 'POST', '/', { body: { resourceType: 'Bundle', type: 'batch', entry } });
    const bundle: Bundle = resourceIn('Bundle', answer);
    expect([answer.status, bundle.type]).toEqual([200, 'batch-response']);
    return { entries: bundle.entry ?? [], statuses: bundle.entry?.map(({ response }) => response?.status) };
  };

  it('is answered entry by entry, as each would be by itself', async () => {
    const { id, booked, slot } = await aBooking();
    const version = booked.meta?.versionId;
    const paths = [
      `Appointment/${id}`,
      `Appointment?_id=${id}`,
      `Slot/${slot.id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${version}`,
      'metadata',
    ];
    const { entries, statuses } = await send(paths.map((path, index) => `${['', '/', `${base}/`][index % 3]}${path}`));
    expect(statuses).toEqual(paths.map(() => '200'));
    expect(entries[0]?.response).toEqual({ status: '200', etag: `W/"${version}"`, lastModified: expect.any(String) });
    for (const [index, path] of paths.entries()) {
      expect(entries[index]?.resource).toEqual((await request('portal-a', 'GET', `/${path}`)).body);
    }
  });

  it("shows nothing of another requestor's", async () => {
    const { id, booked, patient } = await aBooking();
    const own = [
      `Appointment/${id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${booked.meta?.versionId}`,
      `Patient/${patient.id}`,
    ];
    const { entries, statuses } = await send([...own, `Patient?_id=${patient.id}`], 'portal-b');
    expect([statuses, entries[4]?.resource]).toMatchObject([['404', '404', '404', '404', '200'], { total: 0 }]);
    expect(JSON.stringify(entries)).not.toContain(patient.identifier?.[0]?.value);
  });
});

it('absolute URLs are built from the configured base address, never from request headers', async () => {
  const authorization = `Bearer ${await tokenOf('portal-a')}`;
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    forwarded: 'host=evil.example',
    authorization,
  };
  const body = await new Promise<string>((resolve, reject) => {
    get(`${base}/Slot?_count=2`, { headers }, (response) => resolve(text(response))).once('error', reject);
  });
  expect(body).not.toContain('evil.example');
  const { link, entry } = JSON.parse(body) as { link: { url: string }[]; entry: { fullUrl: string }[] };
  const urls = [...link.map(({ url }) => url), ...entry.map(({ fullUrl }) => fullUrl)];
  expect(urls.length).toBeGreaterThan(2);
  expect(urls.filter((url) => !url.startsWith(`${base}/Slot`))).toEqual([]);
});

describe('a Patient', () => {
  it("POST /Patient: 201, Location, tagged as the requestor's own", async () => {
    const response = await request('portal-a', 'POST', '/Patient', {
      body: { resourceType: 'Patient', name: [{ family: 'Neu' }] },
    });
    const created = resourceIn('Patient', response);
    expect([response.status, response.headers.get('etag')]).toEqual([201, `W/"${created.meta?.versionId}"`]);
    expect(response.headers.get('location')).toContain(`${base}/Patient/${created.id}`);
    expect(created.meta?.tag).toContainEqual({ system: config.metaTagSystem, code: 'external' });
    expect((await request('portal-a', 'GET', `/Patient/${created.id}`)).status).toBe(200);
    expect((await request('portal-b', 'GET', `/Patient/${created.id}`)).status).toBe(404);
  });

  it.each(['replaced-by', 'replaces'])('merging is left to the clinic (%s): refused by Medplum, too', async (type) => {
    const [patient, strange] = await Promise.all([aPatient(), aPatient('portal-b')]);
    const body = { ...patient, active: false, link: [{ type, other: { reference: `Patient/${strange.id}` } }] };
    const response = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body });
    expect([response.status, ...issuesOf(response), isActionable(response)]).toEqual([
      422,
      'profile-violation Patient.link',
      true,
    ]);
    expect((await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(403);
    expect((await request('portal-a', 'GET', `/Patient/${patient.id}`)).body).toEqual(patient);
  });

  it('what the clinic has merged stays merged: it can be sent as it was read, and not without the link', async () => {
    const [patient, survivor] = await Promise.all([aPatient(), aPatient()]);
    const link = [{ type: 'replaced-by', other: { reference: `Patient/${survivor.id}` } }];
    const merged = { ...patient, active: false, link };
    const path = `/Patient/${patient.id}`;
    expect((await medplum('front-desk', 'PUT', path, { body: merged })).status).toBe(200);
    const { link: _, ...without } = resourceIn('Patient', await request('portal-a', 'GET', path));
    expect((await request('portal-a', 'PUT', path, { body: { ...without, link, gender: 'female' } })).status).toBe(200);
    expect((await request('portal-a', 'PUT', path, { body: without })).status).toBe(422);
    expect((await medplum('portal-a', 'PUT', path, { body: without })).status).toBe(403);
    expect(resourceIn('Patient', await request('portal-a', 'GET', path)).link).toEqual(link);
  });
});
