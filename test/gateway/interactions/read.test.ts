import { beforeEach, describe, expect, test } from '@jest/globals';
import { absentOutcome } from '../../../core/booking/appointment/deleted.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { base, bearer, config, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

const appointment = {
  resourceType: 'Appointment',
  id: 'a1',
  meta: { versionId: 'v3', lastUpdated: '2027-01-01T09:00:00.000Z' },
};

const read = (headers = {}) => inject({ url: '/fhir/R4/Appointment/a1', headers: { ...bearer, ...headers } });

describe('read', () => {
  beforeEach(() => {
    fake.answer = () => ({ body: appointment });
  });

  test.each([
    ['*', 304],
    ['W/"v2" , * ', 304],
    ['W/"v2"', 200],
    ['"v3"', 304],
    ['"v2"', 200],
    ['', 200],
  ])('If-None-Match %j: %i', async (sent, status) => {
    expect((await read({ 'if-none-match': sent })).statusCode).toBe(status);
  });
});

describe('history', () => {
  let caller = 0;

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
        .map((version) => (version.isDeleted ? { request: { method: 'DELETE' } } : { resource: resourceOf(version) }));
      return { body: { resourceType: 'Bundle', type: 'history', total: versions.length, entry } };
    };
  }

  const numbered = (count: number, more: Partial<Version> = {}): Version[] =>
    Array.from({ length: count }, (_, index) => ({ number: index + 1, ...more }));

  async function get(url: string) {
    const response = await inject({
      url: `/fhir/R4/${url}`,
      headers: { authorization: `Bearer history-${caller}` },
    });
    return { status: response.statusCode, headers: response.headers, body: response.json() };
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
      expect([status, body.issue[0].expression, body.issue[0].diagnostics]).toEqual([
        400,
        [`http.${name}`],
        diagnostics,
      ]);
      expect(fake.received).toEqual([]);
    });
  });
});

const wasDeleted: Reply = { status: 410, body: absentOutcome('deleted') };
const bot = '/fhir/R4/Bot/$execute';

/** Reads what Medplum refuses, while the Bot answers something else. */
async function readRefused(path: string, refusal: Reply, ofBot: Reply, headers: Record<string, string> = bearer) {
  fake.answer = (received) => (received.path === bot ? ofBot : refusal);
  const response = await inject({ url: `/fhir/R4/${path}`, headers });
  return { status: response.statusCode, body: response.json(), calls: fake.received.filter((one) => one.path === bot) };
}

const paths = ['Appointment/a1', 'Appointment/a1/_history', 'Appointment/a1/_history/v1'];

describe('what Medplum does not find', () => {
  test.each(paths)('was deleted, by the word of the Bot: 410 for %s', async (path) => {
    const { status, body, calls } = await readRefused(path, { status: 404 }, wasDeleted);
    expect([status, body.issue[0].code]).toEqual([410, 'deleted']);
    expect(calls.map(({ query }) => query.get('identifier'))).toEqual([
      `${artefactUri(config, 'LocalBot')}|find-deleted`,
    ]);
    expect(JSON.parse(calls[0]?.body ?? '')).toEqual({
      resourceType: 'Parameters',
      parameter: [
        { name: 'type', valueCode: 'Appointment' },
        { name: 'id', valueId: 'a1' },
      ],
    });
  });

  test.each<[string, Reply]>([
    ['knows nothing of it', { status: 404, body: absentOutcome('unknown') }],
    ['may not be called', { status: 403 }],
    ['fails', { status: 500 }],
    ['refuses', { body: toOperationOutcome([{ code: 'malformed-request', diagnostics: 'No.' }], config) }],
    ['answers something else', { body: { resourceType: 'Patient' } }],
  ])('is not found if the Bot %s', async (_, ofBot) => {
    const { status, body } = await readRefused('Appointment/a1', { status: 404 }, ofBot);
    expect([status, body.issue]).toEqual([
      404,
      [
        {
          severity: 'error',
          code: 'not-found',
          details: { text: 'There is no such resource, or the caller may not see it.' },
          diagnostics: 'There is no such resource, or the caller may not see it.',
        },
      ],
    ]);
  });
});

describe('the Bot is not asked', () => {
  test.each<[string, string, Reply, number]>([
    ['about what the caller may not see', 'Appointment/a1', { status: 403 }, 403],
    ['about what Medplum itself calls deleted', 'Appointment/a1', { status: 410 }, 410],
    ['about types that nobody deletes', 'Slot/s1', { status: 404 }, 404],
  ])('%s', async (_, path, refusal, status) => {
    expect(await readRefused(path, refusal, wasDeleted)).toMatchObject({ status, calls: [] });
  });
});
