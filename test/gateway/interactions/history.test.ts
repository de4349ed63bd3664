import { beforeEach, describe, expect, test } from '@jest/globals';
import { base, withGateway } from '../fake-medplum.ts';

let caller = 0;

const { fake, inject } = withGateway();

beforeEach(() => {
  caller++;
});

const mine = { system: 'urn:owner', code: 'mine' };

/** A caller that sees everything, or of appointments what has its tag. */
function calledBy(who: 'everything' | 'its own') {
  const resource = [
    { resourceType: 'Appointment', criteria: 'Appointment?_tag=urn:owner|mine' },
    { resourceType: 'Encounter', interaction: ['read', 'search'], criteria: 'Encounter?_tag=urn:owner|mine' },
  ];
  fake.verify = () => ({
    body: {
      profile: { resourceType: 'ClientApplication', id: 'portal-a-id' },
      ...(who === 'its own' && { accessPolicy: { resource } }),
    },
  });
}

interface Version {
  readonly number: number;
  readonly tag?: object;
  readonly isDeleted?: true;
}

const resourceOf = ({ number, tag = mine }: Version) => ({
  resourceType: 'Appointment',
  id: 'a1',
  meta: {
    versionId: `v${number}`,
    lastUpdated: `2027-01-01T00:${String(number % 60).padStart(2, '0')}:00.000Z`,
    tag: [tag],
  },
});

/** A history as Medplum gives it, page by page, the newest first. */
function storing(versions: readonly Version[]) {
  const newestFirst = versions.toReversed();
  fake.answer = ({ path, query }) => {
    if (!path.endsWith('/Appointment/a1/_history')) {
      return undefined;
    }
    const [offset, count] = [Number(query.get('_offset')), Number(query.get('_count'))];
    const entry = newestFirst
      .slice(offset, offset + count)
      .map((one) => (one.isDeleted ? { request: { method: 'DELETE' } } : { resource: resourceOf(one) }));
    return { body: { resourceType: 'Bundle', type: 'history', total: versions.length, entry } };
  };
}

const numbered = (count: number, more: Partial<Version> = {}): Version[] =>
  Array.from({ length: count }, (_, index) => ({ number: index + 1, ...more }));

async function get(url: string) {
  const answer = await inject({
    url: `/fhir/R4/${url}`,
    headers: { authorization: `Bearer history-${caller}` },
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

const url = `${base}/Appointment/a1/_history`;

describe('a history', () => {
  const page = (body: { entry?: { resource: { meta: { versionId: string } } }[] }) =>
    body.entry?.map(({ resource }) => resource.meta.versionId);

  test('comes in pages; the last one says how many there are', async () => {
    calledBy('everything');
    storing(numbered(5));
    const first = (await get('Appointment/a1/_history?_count=2&_format=json&_pretty=false')).body;
    expect([page(first), first.total]).toEqual([['v5', 'v4'], undefined]);
    expect(first.link).toEqual([
      { relation: 'self', url: `${url}?_count=2&_offset=0` },
      { relation: 'next', url: `${url}?_count=2&_offset=2` },
    ]);
    const last = (await get('Appointment/a1/_history?_count=2&_offset=4')).body;
    expect([page(last), last.total, last.link.length]).toEqual([['v1'], 5, 1]);
    const exact = (await get('Appointment/a1/_history?_count=5')).body;
    expect([exact.total, exact.link.length]).toEqual([5, 1]);
    const none = (await get('Appointment/a1/_history?_count=0')).body;
    expect([none.entry, none.total, none.link.length]).toEqual([undefined, undefined, 1]);
    const beyond = (await get('Appointment/a1/_history?_offset=9')).body;
    expect([beyond.entry, beyond.total]).toEqual([undefined, 5]);
  });

  test('has no total where the last version that is looked at is the thousandth', async () => {
    calledBy('everything');
    storing(numbered(1_000));
    const { body } = await get('Appointment/a1/_history?_count=100&_offset=900');
    expect([page(body)?.at(-1), body.total]).toEqual(['v1', undefined]);
    storing(numbered(999));
    expect((await get('Appointment/a1/_history?_count=100&_offset=900')).body.total).toBe(999);
  });

  test('has twenty versions on a page, unless another number is sent', async () => {
    calledBy('everything');
    storing(numbered(30));
    for (const query of ['', '?_count=', '?_offset=']) {
      expect(page((await get(`Appointment/a1/_history${query}`)).body)).toHaveLength(20);
    }
    expect(page((await get('Appointment/a1/_history?_offset=20')).body)).toHaveLength(10);
  });

  test('that is empty has no entries', async () => {
    calledBy('everything');
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'history' } });
    expect((await get('Appointment/a1/_history')).body).toMatchObject({ type: 'history', total: 0 });
  });

  test('is looked through a thousand versions deep', async () => {
    calledBy('everything');
    storing(numbered(1_100));
    const { body } = await get('Appointment/a1/_history?_count=100&_offset=900');
    expect([page(body)?.at(-1), body.total, fake.received.length]).toEqual(['v101', undefined, 10]);
    expect((await get('Appointment/a1/_history?_count=1&_offset=1000')).body.link).toHaveLength(1);
  });

  test.each([
    ['_count=101', '_count', "'_count' must be a number from 0 to 100."],
    ['_count=x', '_count', "'_count' must be a number from 0 to 100."],
    ['_count=1e1', '_count', "'_count' must be a number from 0 to 100."],
    ['_count=00100', '_count', "'_count' must be a number from 0 to 100."],
    ['_count=1.0', '_count', "'_count' must be a number from 0 to 100."],
    ['_offset=1001', '_offset', "'_offset' must be a number from 0 to 1000."],
    ['_offset=-1', '_offset', "'_offset' must be a number from 0 to 1000."],
    ['_since=2027', '_since', "A history has the parameters _count and _offset, not '_since'."],
    ['toString=1', 'toString', "A history has the parameters _count and _offset, not 'toString'."],
  ])('with %s is refused', async (query, name, diagnostics) => {
    const { status, body } = await get(`Appointment/a1/_history?${query}`);
    expect([status, body.issue[0].expression, body.issue[0].diagnostics]).toEqual([400, [`http.${name}`], diagnostics]);
    expect(fake.received).toEqual([]);
  });

  test('with several wrong parameters names each', async () => {
    expect((await get('Appointment/a1/_history?_count=x&_since=y')).body.issue).toHaveLength(2);
  });

  test.each([
    [{ status: 403 }, 403],
    [{ status: 500 }, 503],
    [{ body: { resourceType: 'Patient' } }, 503],
    [{ status: 410 }, 410],
  ])('where Medplum says %j: %i', async (reply, expected) => {
    fake.answer = () => reply;
    expect((await get('Appointment/a1/_history')).status).toBe(expected);
  });

  test('of no id is not there', async () => {
    expect((await get('Appointment/a_1/_history')).status).toBe(404);
    expect(fake.received).toEqual([]);
  });
});

describe('one version', () => {
  test('that is none is not there', async () => {
    expect((await get('Appointment/a1/_history/v_2')).status).toBe(404);
    expect((await get('Appointment/a_1/_history/v2')).status).toBe(404);
    expect(fake.received).toEqual([]);
  });

  test.each([
    [{ status: 403 }, 403],
    [{ status: 404 }, 404],
    [{ status: 410 }, 410],
    [{ status: 500 }, 503],
  ])('where Medplum says %j: %i', async (reply, status) => {
    calledBy('everything');
    fake.answer = () => reply;
    expect((await get('Appointment/a1/_history/v2')).status).toBe(status);
  });

  test('as another resource never passes', async () => {
    calledBy('everything');
    fake.answer = () => ({ body: { resourceType: 'Bot', id: 'a1' } });
    expect((await get('Appointment/a1/_history/v2')).status).toBe(502);
  });

  test('where earlier ones are not seen, the current one alone is read', async () => {
    calledBy('its own');
    const encounter = { resourceType: 'Encounter', id: 'e1', meta: { versionId: 'v7' } };
    fake.answer = ({ path }) => (path === '/fhir/R4/Encounter/e1' ? { body: encounter } : { status: 403 });
    const statuses = [(await get('Encounter/e1/_history/v7')).status, (await get('Encounter/e1/_history/v6')).status];
    expect(statuses).toEqual([200, 404]);
    expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Encounter/e1', '/fhir/R4/Encounter/e1']);
  });
});
