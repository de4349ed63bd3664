import { describe, expect, it } from '@jest/globals';
import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { issuesOf, request, resourceIn } from '../http.ts';
import { base, type Role } from '../installation.ts';
import { aBooking } from '../patch/fixtures.ts';

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

  it('may have no entries; If-None-Match is honoured', async () => {
    expect(await answersTo(undefined)).toEqual([]);
    const { id, booked } = await aBooking();
    const conditional = { method: 'GET', url: `Appointment/${id}`, ifNoneMatch: `W/"${booked.meta?.versionId}"` };
    expect(await answersTo([{ request: conditional }])).toMatchObject([{ response: { status: '304' } }]);
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

  it('leads to nothing that is not served', async () => {
    const urls = [
      'Bot',
      'Project',
      'ProjectMembership',
      'AccessPolicy',
      '$graphql',
      'Slot/../Bot',
      'Slot/..%2fBot',
      '//Bot',
      'Slot/%2e%2e/Bot',
      'Patient/$export',
      '',
      'https://example.org/fhir/R4/Slot',
      `${base}evil/Slot`,
      '%zz',
      '../../admin/projects',
    ];
    expect(statusesOf(await answersTo(reading(...urls), 'admin'))).toEqual(urls.map(() => '404'));
  });

  it('checks what each entry asks for', async () => {
    const [unknown, paging] = await answersTo(reading('Slot?nothing=1', 'Slot?_count=5000'));
    for (const one of [unknown, paging]) {
      expect(one).toMatchObject({ response: { status: '400', outcome: { resourceType: 'OperationOutcome' } } });
      expect(one?.resource).toBeUndefined();
    }
  });
});

describe('what a batch cannot do is refused at its place', () => {
  it('changes', async () => {
    const { id, patient } = await aBooking();
    const answers = await answersTo([
      { request: { method: 'POST', url: 'Patient' }, resource: { resourceType: 'Patient' } },
      { request: { method: 'PUT', url: `Patient/${patient.id}` }, resource: patient },
      { request: { method: 'DELETE', url: `Appointment/${id}` } },
      { request: { method: 'PATCH', url: `Appointment/${id}` } },
      { request: { method: 'POST', url: 'Appointment/$book' }, resource: { resourceType: 'Appointment' } },
      ...reading(`Appointment/${id}`),
    ]);
    expect(statusesOf(answers)).toEqual(['405', '405', '405', '405', '405', '200']);
    expect(answers[0]?.response?.outcome).toMatchObject({
      issue: [{ diagnostics: expect.stringContaining('GET only') }],
    });
  });

  it('entries that are none', async () => {
    const entries = [
      null,
      7,
      {},
      { request: {} },
      { request: { method: 'GET' } },
      { request: { method: 'GET', url: 7 } },
    ];
    expect(statusesOf(await answersTo(entries))).toEqual(entries.map(() => '400'));
  });

  it('more than 50 entries', async () => {
    const answers = await answersTo(reading(...Array.from({ length: 52 }, () => 'Slot?_count=0')));
    expect(statusesOf(answers)).toEqual([...Array(50).fill('200'), '413', '413']);
  });

  it('more resources than a page or two', async () => {
    const answers = await answersTo(reading(...Array.from({ length: 40 }, () => 'CodeSystem?_count=1000')));
    const resources = answers.flatMap(({ resource }) => (resource as Bundle | undefined)?.entry ?? []);
    expect(resources.length).toBeLessThan(3_000);
  });
});

it.each<[string, unknown, unknown, string]>([
  ['a transaction', 'transaction', reading('Slot'), 'malformed-request Bundle.type'],
  ['a Bundle without a type', null, [], 'malformed-request Bundle.type'],
  ['entries that are no list', 'batch', {}, 'malformed-request Bundle.entry'],
  ['a thousand and one entries', 'batch', Array(1001).fill(null), 'malformed-request Bundle.entry'],
])('%s is refused as a whole', async (_, type, entry, issue) => {
  const answer = await send(entry, 'portal-a', type);
  expect([answer.status, ...issuesOf(answer)]).toEqual([400, issue]);
});

it('a batch needs a token, and is announced', async () => {
  expect((await send([], 'nobody')).status).toBe(401);
  expect((await request('nobody', 'GET', '/metadata')).body).toMatchObject({
    rest: [{ interaction: [{ code: 'batch' }] }],
  });
});
