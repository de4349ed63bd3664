import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { toXml } from '../../../core/fhir/xml/write.ts';
import { readXml } from '../../lib/read-xml.ts';
import { aClinic, book, proposed, slotsOf } from '../fixtures.ts';
import { type Answer, isActionable, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, type Role, tokenOf } from '../installation.ts';
import { aBooking, patch, read } from '../patch/fixtures.ts';

const wrong = {
  extension: [{ url: 'urn:x', valueText: 'x' }],
  serviceType: [{ coding: [{ code: 'ct', systm: 'urn:x' }] }],
  minutesDuration: '30',
  start: '2020-01-01T10:00:00Z',
  end: '2020-01-01T09:00:00Z',
};

it('$book tells all problems at once: what FHIR does not have, at any depth, beside the rules', async () => {
  const { slot, patient } = await aClinic();
  const answer = await book({ ...proposed(patient, [slot]), ...wrong, status: 'booked' });
  expect([answer.status, issuesOf(answer).sort()]).toEqual([
    400,
    [
      'malformed-request Appointment.extension[0].valueText',
      'malformed-request Appointment.minutesDuration',
      'malformed-request Appointment.serviceType[0].coding[0].systm',
      'period-invalid Appointment.end',
      'profile-violation Appointment.serviceType[0].coding[0]',
      'start-in-past Appointment.start',
      'status-not-proposed Appointment.status',
    ],
  ]);
  const found = resourceIn('Bundle', await medplum('front-desk', 'GET', `/Appointment?slot=Slot/${slot.id}`));
  expect(found.entry ?? []).toEqual([]);
});

it('a PATCH tells all problems at once, and changes nothing', async () => {
  const { id, booked } = await aBooking();
  const answer = await patch(id, [
    { op: 'add', path: '/participant/0/actor/invented', value: 'x' },
    { op: 'add', path: '/minutesDuration', value: '30' },
    { op: 'add', path: '/toString', value: 'x' },
    { op: 'replace', path: '/end', value: '2040-01-01T10:00:00Z' },
    { op: 'replace', path: '/status', value: 'arrived' },
    { op: 'add', path: '/serviceType', value: [{ coding: [{ code: 'ct' }] }] },
  ]);
  expect([answer.status, issuesOf(answer).sort()]).toEqual([
    400,
    [
      'immutable-element Appointment.end',
      'patch-invalid Appointment.minutesDuration',
      'patch-invalid Appointment.participant[0].actor.invented',
      'patch-invalid Appointment.toString',
      'profile-violation Appointment.serviceType[0].coding[0]',
      'transition-not-allowed Appointment.status',
    ],
  ]);
  expect(await read(id)).toEqual(booked);
});

it('of very many problems the first are told, and how many there are besides', async () => {
  const { slot, patient } = await aClinic();
  const identifier = Array.from({ length: 50 }, (_, index) => ({ value: `${index}`, invented: 1, other: 2 }));
  const answer = await book(proposed(patient, [slot], { identifier }));
  expect([answer.status, resourceIn('OperationOutcome', answer).issue.length]).toEqual([400, 50]);
  expect(answer.text).toContain('There are 51 more problems');
});

const nested = `${'{"extension":['.repeat(200)}${']}'.repeat(200)}`;

it.each<[number, string, string, string, object]>([
  [404, 'an unknown route', 'GET', '/Nonsense', {}],
  [404, 'a resource that does not exist', 'GET', '/Slot/00000000-0000-4000-8000-000000000000', {}],
  [400, 'no JSON', 'POST', '/Appointment/$book', { body: '{"resourceType":' }],
  [400, 'JSON nested too deeply', 'POST', '/Appointment/$book', { body: nested }],
  [400, 'no body', 'POST', '/Appointment/$book', {}],
  [405, 'PUT on Appointment', 'PUT', '/Appointment/1', { body: {} }],
  [405, 'DELETE on Appointment', 'DELETE', '/Appointment/1', {}],
  [405, 'POST on Slot', 'POST', '/Slot', { body: {} }],
  [406, 'an answer in CSV', 'GET', '/Slot', { headers: { accept: 'text/csv' } }],
  [
    413,
    'a body over 1 MB',
    'POST',
    '/Appointment/$book',
    { body: JSON.stringify({ comment: 'x'.repeat(1024 * 1024) }) },
  ],
  [415, 'a body of text', 'POST', '/Patient', { body: 'hello', headers: { 'content-type': 'text/plain' } }],
])('%i, %s, is an OperationOutcome', async (status, _, method, path, options) => {
  const answer = await request('portal-a', method, path, options);
  expect(answer.status).toBe(status);
  expect(isActionable(answer)).toBe(true);
  expect(answer.text).not.toMatch(/\bat \S+ \(|node_modules|portal-a|127\.0\.0\.1/);
});

it('405 names the methods that are allowed', async () => {
  const answer = await request('portal-a', 'DELETE', '/Patient/1');
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')?.split(/, */)).toEqual(expect.arrayContaining(['GET', 'PUT']));
});

describe('XML', () => {
  const xml = { accept: 'application/fhir+xml' } as const;
  const sent = { ...xml, 'content-type': 'application/fhir+xml' } as const;

  /** The resource in an answer in XML. */
  function readIn({ headers, text }: Answer): unknown {
    expect(headers.get('content-type')).toBe('application/fhir+xml; charset=utf-8');
    const reading = readXml(text);
    return 'value' in reading ? reading.value : reading.issues;
  }

  it('books, reads, changes and answers in it', async () => {
    const { slot, patient } = await aClinic();
    const parameter = [{ name: 'appt-resource', resource: proposed(patient, [slot]) }];
    const body = toXml({ resourceType: 'Parameters', parameter });
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    const booked = readIn(answer);
    expect([answer.status, booked]).toEqual([201, expect.objectContaining({ status: 'booked', start: slot.start })]);
    const path = answer.headers.get('location')?.replace(base, '') ?? '';
    expect((await request('portal-a', 'GET', path)).body).toEqual(booked);
    const part = [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Appointment.status' },
      { name: 'value', valueCode: 'cancelled' },
    ];
    const patch = toXml({ resourceType: 'Parameters', parameter: [{ name: 'operation', part }] });
    const changed = await request('portal-a', 'PATCH', path, { body: patch, headers: sent });
    expect([changed.status, readIn(changed)]).toEqual([200, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('refuses in it, with everything that is wrong', async () => {
    const { slot, patient } = await aClinic();
    const body = toXml(proposed(patient, [slot])).replace(
      '<status value="proposed"/>',
      '<status/><mood value="good"/>',
    );
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    expect([answer.status, readIn(answer)]).toEqual([
      400,
      expect.objectContaining({
        issue: [
          expect.objectContaining({ expression: ['Appointment.status'] }),
          expect.objectContaining({ expression: ['Appointment.mood'] }),
        ],
      }),
    ]);
    expect(resourceIn('Slot', await request('portal-a', 'GET', `/Slot/${slot.id}`)).status).toBe('free');
  });

  it.each(['text/turtle', 'text/html'])('neither takes nor gives %s', async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: toXml(proposed(patient, [slot])), headers: { 'content-type': type } };
    expect((await request('portal-a', 'POST', '/Appointment/$book', options)).status).toBe(415);
    expect((await request('portal-a', 'GET', '/Slot?_count=1', { headers: { accept: type } })).status).toBe(406);
  });
});

describe('Prefer: return is honoured on every write', () => {
  it.each([
    ['return=minimal', ''],
    ['RETURN="minimal"; foo, wait=5', ''],
    ['return=OperationOutcome', 'OperationOutcome'],
    ['return=representation', 'Appointment'],
    ['handling=lenient', 'Appointment'],
  ])('%s on $book', async (prefer, type) => {
    const { slot, patient } = await aClinic();
    const answer = await book(proposed(patient, [slot]), 'portal-a', { prefer });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toContain('/Appointment/');
    expect(type === '' ? answer.text : answer.body).toEqual(
      type === '' ? '' : expect.objectContaining({ resourceType: type }),
    );
  });

  it.each([
    ['return=minimal', ''],
    ['return=OperationOutcome', 'OperationOutcome'],
    ['return=representation', 'Patient'],
  ])('%s on creating and updating a patient', async (prefer, type) => {
    const body = { resourceType: 'Patient', name: [{ family: randomUUID() }] };
    const created = await request('portal-a', 'POST', '/Patient', { body, headers: { prefer } });
    expect(created.status).toBe(201);
    const id = created.headers.get('location')?.split('/Patient/')[1]?.split('/')[0];
    const stored = resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${id}`));
    const updated = await request('portal-a', 'PUT', `/Patient/${id}`, {
      body: { ...stored, gender: 'other' },
      headers: { prefer },
    });
    expect(updated.status).toBe(200);
    for (const answer of [created, updated]) {
      expect(type === '' ? answer.text : answer.body).toEqual(
        type === '' ? '' : expect.objectContaining({ resourceType: type }),
      );
    }
  });
});

const reading = (...urls: string[]) => urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));

const send = (entry: unknown, role: Role = 'portal-a', type: unknown = 'batch') =>
  request(role, 'POST', '/', { body: { resourceType: 'Bundle', type, entry } });

async function answersTo(entry: unknown, role: Role = 'portal-a'): Promise<BundleEntry[]> {
  const answer = await send(entry, role);
  const bundle: Bundle = resourceIn('Bundle', answer);
  expect([answer.status, bundle.type]).toEqual([200, 'batch-response']);
  return bundle.entry ?? [];
}

const statusesOf = (entries: readonly BundleEntry[]) => entries.map(({ response }) => response?.status);

describe('a batch of reads', () => {
  it('is answered entry by entry, as each would be by itself', async () => {
    const { id, booked, slot } = await aBooking();
    const urls = [
      `Appointment/${id}`,
      `/Appointment?_id=${id}`,
      `${base}/Slot/${slot.id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${booked.meta?.versionId}`,
      'metadata',
    ];
    const answers = await answersTo(reading(...urls));
    expect(statusesOf(answers)).toEqual(urls.map(() => '200'));
    expect(answers[0]).toEqual({
      resource: booked,
      response: { status: '200', etag: `W/"${booked.meta?.versionId}"`, lastModified: expect.any(String) },
    });
    for (const [index, url] of urls.slice(1).entries()) {
      const alone = await request('portal-a', 'GET', `/${url.replace(`${base}/`, '').replace(/^\//, '')}`);
      expect(answers[index + 1]?.resource).toEqual(alone.body);
    }
  });

  it("shows nothing of another requestor's", async () => {
    const { id, booked, patient } = await aBooking();
    const urls = [
      `Appointment/${id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${booked.meta?.versionId}`,
      `Patient/${patient.id}`,
      `Patient?_id=${patient.id}`,
    ];
    const answers = await answersTo(reading(...urls), 'portal-b');
    expect(statusesOf(answers)).toEqual(['404', '404', '404', '404', '200']);
    expect(answers[4]?.resource).toMatchObject({ total: 0 });
    expect(JSON.stringify(answers)).not.toContain(patient.identifier?.[0]?.value);
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

const clocks = ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'Mon, 32 Foo -1 99:99:99', '0'];

it.each(clocks)('the clock of the client has no effect: Date: %s', async (date) => {
  const { schedule, slot, patient } = await aClinic();
  expect((await book(proposed(patient, [slot]), 'portal-a', { date })).status).toBe(201);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  const past = { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' };
  const answer = await book(proposed(patient, [slot], past), 'portal-a', { date });
  expect(answer.status).toBe(422);
  expect(issuesOf(answer)).toContain('start-in-past Appointment.start');
});
