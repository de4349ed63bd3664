import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import type { BundleEntry, HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { FastifyInstance } from 'fastify';
import type { Role } from '../../../core/booking/caller-role.ts';
import { artefactUri } from '../../../core/config/config.ts';
import type { GatewayContext } from '../../../gateway/context.ts';
import type { FhirRequest } from '../../../gateway/handler.ts';
import { onlyBookable } from '../../../gateway/search/bookable.ts';
import { parseQuery } from '../../../gateway/search/rewrite.ts';
import type { ServedTypeName } from '../../../gateway/served-types.ts';
import {
  bearer,
  config,
  type FakeMedplum,
  gatewayTo,
  type Reply,
  searchset,
  startFakeMedplum,
} from '../fake-medplum.ts';
import { answeredBatch, foundEntry } from './batch.ts';

const now = Date.parse('2027-01-01T00:00:00Z');

const leadTime = (hours: number) => ({
  extension: [
    {
      url: artefactUri(config, 'LocalBookingPolicy'),
      extension: [{ url: 'leadTime', valueDuration: { value: hours, code: 'h' } }],
    },
  ],
});
const schedule = (id: string, more: Partial<Schedule> = {}): Schedule => ({
  resourceType: 'Schedule',
  id,
  actor: [{ reference: 'HealthcareService/s' }],
  ...more,
});
const service = (more: Partial<HealthcareService>): HealthcareService => ({
  resourceType: 'HealthcareService',
  id: 's',
  ...more,
});
const closed = schedule('closed', { active: false });

/** What becomes of a search in an installation with these Schedules and services, and which Schedules were read. */
async function narrowed(
  query: string,
  calendar: readonly (Schedule | HealthcareService)[],
  { type = 'Slot', role = 'requestor' }: { type?: ServedTypeName; role?: Role | 'nobody' } = {},
) {
  const read: (string | undefined)[] = [];
  const calendars: GatewayContext['calendars'] = {
    read: async (ids) => {
      read.push(ids);
      return {
        schedules: calendar.filter((one) => one.resourceType === 'Schedule'),
        services: calendar.filter((one) => one.resourceType === 'HealthcareService'),
        isWhole: true,
      };
    },
  };
  const exchange = { caller: role === 'nobody' ? undefined : { role }, upstreamHeaders: {} } as FhirRequest;
  const params = parseQuery(query);
  const result = await onlyBookable(type, params, exchange, { config, calendars } as GatewayContext, now);
  const filters = 'status' in result ? [] : result.slice(params.length).map(({ name, value }) => `${name}=${value}`);
  return { result, params, filters, read };
}

describe('a search for free Slots', () => {
  it.each<[string, (Schedule | HealthcareService)[], string[]]>([
    ['shows none of a Schedule that is not open for booking', [closed], ['_filter=(schedule ne "Schedule/closed")']],
    [
      'shows those of a Schedule from the time on that its policy permits',
      [schedule('a', leadTime(3))],
      ['_filter=(schedule ne "Schedule/a") or (schedule re "Schedule/a" and start ge "2027-01-01T03:00:00.000Z")'],
    ],
    [
      '… or that of its service',
      [schedule('a'), service(leadTime(2))],
      ['_filter=(schedule ne "Schedule/a") or (schedule re "Schedule/a" and start ge "2027-01-01T02:00:00.000Z")'],
    ],
    ['shows all where nothing limits bookings', [schedule('a'), service({})], []],
  ])('%s', async (_, calendar, expected) => {
    const { filters, result, params } = await narrowed('status=free', calendar);
    expect(filters).toEqual(expected);
    if (expected.length === 0) {
      expect(result).toBe(params);
    }
  });

  it('by staff shows what a policy withholds from others, but nothing of a closed Schedule', async () => {
    const calendar = [closed, schedule('a', leadTime(3))];
    expect((await narrowed('status=free', calendar, { role: 'repository' })).filters).toEqual([
      '_filter=(schedule ne "Schedule/closed")',
    ]);
  });

  it.each([
    ['status=free', undefined],
    ['status=free&schedule=Schedule/a', 'a'],
    ['status=free&schedule=Schedule/a,Schedule/b&schedule=Schedule/c', 'a,b,c'],
    ['status=free&schedule=https://other.example/Schedule/a', 'https://other.example/Schedule/a'],
    ['status=free&schedule:identifier=urn:x|1&_tag=Schedule/a', undefined],
    ['schedule=Schedule/a&identifier=x&status=free', 'a'],
  ])('%s depends on the Schedules %s', async (query, ids) => {
    expect((await narrowed(query, [])).read).toEqual([ids]);
  });
});

describe('every other search stays as it is, and no Schedule is read', () => {
  it.each<[ServedTypeName, string]>([
    ['Slot', 'status=busy'],
    ['Slot', 'status=free,busy'],
    ['Slot', 'status:not=free'],
    ['Slot', 'identifier=free'],
    ['Slot', 'schedule=Schedule/closed'],
    ['Appointment', 'status=free'],
  ])('%s?%s', async (type, query) => {
    const { result, params, read } = await narrowed(query, [closed], { type });
    expect(result).toBe(params);
    expect(read).toEqual([]);
  });

  it('where nobody asks', async () => {
    const { result, params } = await narrowed('status=free', [closed], { role: 'nobody' });
    expect(result).toBe(params);
  });
});

describe('over HTTP', () => {
  let fake: FakeMedplum;
  let gateway: FastifyInstance;

  beforeAll(async () => {
    fake = await startFakeMedplum();
    gateway = gatewayTo(fake);
  });
  afterAll(() => Promise.all([gateway.close(), fake.close()]));
  beforeEach(() => {
    fake.received.length = 0;
  });

  /** Answers batches so, and searches for Slots with one that leads on. */
  function answering(batch: (body: string) => Reply) {
    fake.answer = ({ path, body }) =>
      path === '/fhir/R4'
        ? batch(body)
        : { body: searchset(fake.url, 'Slot', [{ resourceType: 'Slot', id: 'x' }], '_offset=1') };
  }

  const entryOf = (url: string, more: object = {}): BundleEntry =>
    foundEntry({ total: 1, ...(url.startsWith('Schedule') && { entry: [{ resource: closed }] }), ...more });

  const get = async (query: string) => {
    const answer = await gateway.inject({ url: `/fhir/R4/Slot?${query}`, headers: bearer });
    return { status: answer.statusCode, body: answer.json() };
  };

  test('Medplum carries the condition out, and no address and no link shows it', async () => {
    answering((body) => answeredBatch(body, entryOf));
    const { status, body } = await get('schedule=closed&status=free');
    const { method, path, query, body: form = '' } = fake.received.at(-1) ?? {};
    expect([status, method, path, query?.size]).toEqual([200, 'POST', '/fhir/R4/Slot/_search', 0]);
    expect(new URLSearchParams(form).get('_filter')).toBe('(schedule ne "Schedule/closed")');
    expect(body.link).toHaveLength(2);
    expect(JSON.stringify(body.link)).not.toContain('_filter');
  });

  test('where there are too many Schedules, some have to be named', async () => {
    const link = [{ relation: 'next', url: 'x' }];
    answering((body) => answeredBatch(body, (url) => entryOf(url, url.startsWith('Schedule') ? { link } : {})));
    const { status, body } = await get('status=free');
    expect([status, body.issue[0].expression, body.issue[0].diagnostics]).toEqual([
      400,
      ['http.schedule'],
      'There are more than 1000 schedules: use the parameter schedule to name those to search.',
    ]);
  });

  test.each<[Reply, number]>([
    [{ status: 500 }, 503],
    [{ status: 401 }, 401],
    [{ body: { resourceType: 'Patient' } }, 502],
    [{ body: { resourceType: 'Bundle', type: 'batch-response' } }, 502],
  ])('where Medplum answers %j to the question for Schedules: %i', async (reply, status) => {
    answering(() => reply);
    expect((await get('status=free')).status).toBe(status);
  });
});
