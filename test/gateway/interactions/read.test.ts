import { beforeEach, describe, expect, test } from '@jest/globals';
import { absentOutcome } from '../../../core/booking/deleted.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bearer, config, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

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

  describe('a history', () => {
    const page = (body: { entry?: { resource: { meta: { versionId: string } } }[] }) =>
      body.entry?.map(({ resource }) => resource.meta.versionId);

    test('has no total where the last version that is looked at is the thousandth', async () => {
      calledBy('everything');
      storing(numbered(1_000));
      const { body } = await get('Appointment/a1/_history?_count=100&_offset=900');
      expect([page(body)?.at(-1), body.total]).toEqual(['v1', undefined]);
      storing(numbered(999));
      expect((await get('Appointment/a1/_history?_count=100&_offset=900')).body.total).toBe(999);
    });

    test('is looked through a thousand versions deep', async () => {
      calledBy('everything');
      storing(numbered(1_100));
      const { body } = await get('Appointment/a1/_history?_count=100&_offset=900');
      expect([page(body)?.at(-1), body.total, fake.received.length]).toEqual(['v101', undefined, 10]);
      expect((await get('Appointment/a1/_history?_count=1&_offset=1000')).body.link).toHaveLength(1);
    });
  });

  describe('one version', () => {
    test('where earlier ones are not seen, the current one alone is read', async () => {
      calledBy('its own');
      const encounter = { resourceType: 'Encounter', id: 'e1', meta: { versionId: 'v7' } };
      fake.answer = ({ path }) => (path === '/fhir/R4/Encounter/e1' ? { body: encounter } : { status: 403 });
      const statuses = [(await get('Encounter/e1/_history/v7')).status, (await get('Encounter/e1/_history/v6')).status];
      expect(statuses).toEqual([200, 404]);
      expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Encounter/e1', '/fhir/R4/Encounter/e1']);
    });
  });
});

const bot = '/fhir/R4/Bot/$execute';

/** Reads what Medplum refuses, while the Bot answers something else. */
async function readRefused(path: string, refusal: Reply, ofBot: Reply, headers: Record<string, string> = bearer) {
  fake.answer = (received) => (received.path === bot ? ofBot : refusal);
  const answer = await inject({ url: `/fhir/R4/${path}`, headers });
  return { status: answer.statusCode, body: answer.json(), calls: fake.received.filter((one) => one.path === bot) };
}

describe('what Medplum does not find', () => {
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
