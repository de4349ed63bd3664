import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isObject } from '../../../core/fhir/resource.ts';
import { scaled } from '../../../test/lib/time-scale.ts';
import { allChecks } from '../checks/all.ts';
import type { Client, KitResponse, Sent } from '../client.ts';
import type { Given } from '../preparation/prepare.ts';
import { type Service, startService } from './service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService('isik5');
}, scaled(60_000));

afterAll(() => service.stop());

const isBook = ({ method, path }: Sent): boolean => method === 'POST' && path === '/Appointment/$book';
const isRead = ({ method, path }: Sent): boolean => method === 'GET' && /^\/\w+\/[\w-]+$/.test(path);
const isSearch = ({ method, path }: Sent): boolean => method === 'GET' && path.includes('?');

const ok = (response: KitResponse): boolean => response.status < 300;

const withStatus =
  (status: number) =>
  (response: KitResponse): KitResponse => ({ ...response, status });

const change =
  (more: object) =>
  (response: KitResponse): KitResponse =>
    ok(response) && isObject(response.resource)
      ? { ...response, resource: { ...response.resource, ...more } }
      : response;

/** A service that differs from ours in the answers to some requests. */
const changing =
  (concerns: (sent: Sent) => boolean, how: (response: KitResponse, sent: Sent) => KitResponse) =>
  (client: Client): Client => ({
    ...client,
    send: async (sent) => {
      const response = await client.send(sent);
      return concerns(sent) ? how(response, sent) : response;
    },
  });

/** A service that takes some requests for others. */
const asking =
  (other: (sent: Sent) => Sent) =>
  (client: Client): Client => ({ ...client, send: (sent) => client.send(other(sent)) });

/** A service that writes everything in another way. */
const rewriting = (how: (text: string) => string): ((client: Client) => Client) =>
  changing(
    () => true,
    (response) => ({ ...response, ...JSON.parse(how(JSON.stringify({ resource: response.resource }))) }),
  );

const only = (resource: unknown, wanted: (entry: unknown) => boolean): unknown =>
  isObject(resource) && Array.isArray(resource.entry)
    ? { ...resource, entry: resource.entry.filter(wanted) }
    : resource;

const cases: readonly (readonly [what: string, broken: (client: Client) => Client, fails: readonly string[]])[] = [
  [
    'answers a pending appointment with 201',
    changing(isBook, (response) =>
      response.status === 202 && isObject(response.resource) ? withStatus(201)(response) : response,
    ),
    ['book-pending'],
  ],
  [
    'leaves bookings proposed',
    changing(
      (sent) => isBook(sent) || isRead(sent),
      (response) =>
        isObject(response.resource) && response.resource.status === 'booked'
          ? change({ status: 'proposed' })(response)
          : response,
    ),
    ['book-free-slot', 'book-part-of-slot', 'book-by-schedule'],
  ],
  [
    'lets a patient who is passed take part by the name of the request alone',
    changing(
      isBook,
      change({ participant: [{ actor: { reference: 'urn:uuid:2a6b6f5c-95f3-4b1f-8a40-6c1f0c2f7d11' } }] }),
    ),
    ['book-with-patient'],
  ],
  [
    'does not say which slot it has chosen',
    changing(isBook, (response, { body }) =>
      isObject(body) && JSON.stringify(body).includes('"schedule"') ? change({ slot: undefined })(response) : response,
    ),
    ['book-by-schedule'],
  ],
  [
    'gives the job of an asynchronous booking a relative address',
    changing(isBook, (response) => ({
      ...response,
      header: {
        ...response.header,
        'content-location': response.header['content-location']?.replace(/^.*\/async/, '/async') ?? '',
      },
    })),
    ['book-async'],
  ],
  [
    'books synchronously whatever the client prefers',
    asking((sent) => (isBook(sent) ? { ...sent, headers: {} } : sent)),
    ['book-async'],
  ],
  [
    'refuses immutable elements with 422',
    changing(
      ({ method }) => method === 'PATCH',
      (response) => (response.status === 400 ? withStatus(422)(response) : response),
    ),
    ['patch-slot', 'patch-start', 'patch-end', 'patch-patient'],
  ],
  [
    'describes errors in prose only',
    changing(
      (sent) => isBook(sent) || sent.method === 'PATCH',
      (response) => (response.status >= 400 ? { ...response, resource: undefined, text: 'No.' } : response),
    ),
    ['book-incomplete', 'book-taken-slot', 'book-inactive-patient', 'patch-slot', 'rebook-not-available'],
  ],
  [
    'has had enough of bookings',
    changing(isBook, (response) => (response.status >= 400 ? withStatus(429)(response) : response)),
    ['book-taken-slot', 'book-not-proposed', 'rebook-not-available'],
  ],
  [
    'gives a moved appointment a new id',
    asking((sent) =>
      isBook(sent) && isObject(sent.body) && sent.body.id ? { ...sent, body: { ...sent.body, id: undefined } } : sent,
    ),
    ['rebook-in-another-slot'],
  ],
  [
    'forgets the tag external',
    changing((sent) => isBook(sent) || isRead(sent), change({ meta: {} })),
    ['book-free-slot', 'patient-create', 'read-appointment-in-full'],
  ],
  [
    'ignores the status in searches for slots',
    asking((sent) => (isSearch(sent) ? { ...sent, path: sent.path.replace(/&status=\w+/, '') } : sent)),
    ['slots-free', 'search-slot-by-status-and-schedule'],
  ],
  [
    'takes a day for its midnight',
    asking((sent) =>
      isSearch(sent)
        ? { ...sent, path: sent.path.replace(/(start|date)=((?:[gl]e)?\d{4}-\d\d-\d\d)(?=$|&)/g, '$1=$2T00:00:00Z') }
        : sent,
    ),
    ['search-slot-by-start', 'search-appointment-by-date', 'slots-over-days'],
  ],
  [
    'answers JSON whatever is asked for',
    asking((sent) => ({ ...sent, headers: { ...sent.headers, accept: 'application/fhir+json' } })),
    ['metadata-xml', 'book-xml'],
  ],
  [
    'hides the code systems of its services',
    changing(
      ({ path }) => path.startsWith('/CodeSystem'),
      (response) => ({ ...response, resource: only(response.resource, () => false) }),
    ),
    ['code-systems-healthcareservice', 'code-systems-schedule', 'code-systems-exposed'],
  ],
  [
    'finds no total',
    changing(isSearch, change({ total: undefined })),
    [
      'search-appointment-with-empty-count',
      'search-healthcareservice-with-empty-count',
      'search-schedule-with-empty-count',
      'search-slot-with-empty-count',
    ],
  ],
  [
    'keeps silent about its roles',
    changing(({ path }) => path === '/metadata', change({ instantiates: undefined })),
    ['metadata-instantiates'],
  ],
  [
    'takes a stay for the moment at which it begins',
    asking((sent) => ({ ...sent, path: sent.path.replace(/end-date=/, 'date-start=') })),
    ['search-encounter-not-by-another-end-date'],
  ],
  [
    'ignores the dates of encounters',
    asking((sent) => ({ ...sent, path: sent.path.replace(/(Encounter\/\?)(end-)?date(-start)?=.*/, '$1') })),
    [
      'search-encounter-not-by-another-date',
      'search-encounter-not-by-another-date-start',
      'search-encounter-not-by-another-end-date',
    ],
  ],
  [
    'activates no Subscription',
    changing(({ path }) => path.startsWith('/Subscription'), change({ status: 'requested' })),
    ['subscription-end'],
  ],
  [
    'breaks where it creates patients',
    changing(({ method, path }) => method === 'POST' && path === '/Patient', withStatus(500)),
    ['book-free-slot', 'patch-cancel'],
  ],
  [
    'refuses what staff confirm by hand',
    changing(isBook, (response) =>
      response.status === 202 ? { ...response, status: 422, resource: { resourceType: 'OperationOutcome' } } : response,
    ),
    ['book-pending'],
  ],
  [
    'does not say for whom it has booked',
    changing(isBook, change({ participant: [{ actor: { reference: 'Practitioner/1' }, status: 'accepted' }] })),
    ['patch-patient'],
  ],
];

/** A check that waits waits for nothing here. */
const impatient = allChecks.map((check) => ({
  ...check,
  steps: check.steps.map((step) => (step.within === undefined ? step : { ...step, within: Math.min(step.within, 2) })),
}));

test.each(cases)(
  'a service that %s fails the checks of that',
  async (_, broken, names) => {
    const checks = impatient.filter(({ name }) => names.includes(name));
    const { results } = await service.examine({ checks, broken });
    expect(results.map(({ check, conclusion }) => [check.name, conclusion]).sort()).toEqual(
      names.map((name) => [name, 'failed']).sort(),
    );
  },
  scaled(60_000),
);

/** What another service may do in its own way. */
const allowed: readonly (readonly [what: string, other: (client: Client) => Client, passes: readonly string[]])[] = [
  [
    'writes moments without thousandths of a second',
    rewriting((text) => text.replaceAll(/(T\d\d:\d\d:\d\d)\.000Z/g, '$1Z')),
    ['book-free-slot', 'rebook-not-available', 'patch-start', 'read-slot-in-full'],
  ],
  [
    'names profiles and definitions with their version',
    rewriting((text) =>
      text.replaceAll(
        /("https:\/\/gematik\.de\/[^"|]*\/(Structure|Operation)Definition\/[^"|]*)"(?=[,\]}])/g,
        '$1|5.0.0"',
      ),
    ),
    ['metadata-profiles', 'metadata-book-definition', 'book-free-slot'],
  ],
  [
    'refuses an asynchronous booking at once',
    asking((sent) => (isBook(sent) ? { ...sent, headers: {} } : sent)),
    ['book-async-failure'],
  ],
  [
    'puts off every third request',
    (client) => {
      let asked = 0;
      const busy: KitResponse = { status: 429, header: { 'retry-after': '0' }, text: 'later', resource: undefined };
      return { ...client, send: async (sent) => (asked++ % 3 === 0 ? busy : client.send(sent)) };
    },
    ['book-taken-slot', 'patch-start'],
  ],
  [
    'answers a creation with its address alone',
    changing(
      ({ method }) => method === 'POST',
      (response, { path }) =>
        path === '/Patient' && isObject(response.resource)
          ? { ...response, text: '', resource: { resourceType: 'Patient', id: response.resource.id } }
          : response,
    ),
    ['patient-create', 'patient-update', 'search-patient-by-birthdate'],
  ],
  [
    'gives two at a time',
    asking((sent) => ({ ...sent, path: sent.path.replace(/_count=\d+/, '_count=2') })),
    ['slots-free', 'schedules-by-actors', 'code-systems-exposed', 'search-slot-by-practitioner'],
  ],
  [
    'calls the operation by its address',
    rewriting((text) => text.replaceAll('"name":"book"', '"name":"$book"')),
    ['metadata-book'],
  ],
  [
    'puts somebody else before the patient',
    changing(isBook, (response) =>
      isObject(response.resource) && Array.isArray(response.resource.participant)
        ? change({ participant: [{ actor: { reference: 'Location/1' } }, ...response.resource.participant] })(response)
        : response,
    ),
    ['book-with-patient'],
  ],
];

test.each(allowed)(
  'a service that %s passes the checks of that',
  async (_, other, names) => {
    const checks = impatient.filter(({ name }) => names.includes(name));
    const { results, left } = await service.examine({ checks, broken: other });
    expect(left).toEqual([]);
    expect(results.map(({ check, conclusion, reason }) => [check.name, conclusion, reason]).sort()).toEqual(
      names.map((name) => [name, 'passed', '']).sort(),
    );
  },
  scaled(60_000),
);

test(
  'a service that is down passes nothing, and every reason says what came instead',
  async () => {
    const { results } = await service.examine({
      broken: (client) => ({
        ...client,
        send: async () => ({ status: 503, header: {}, text: 'maintenance', resource: undefined }),
      }),
      checks: impatient,
    });
    expect(results.filter(({ conclusion }) => conclusion === 'passed')).toEqual([]);
    expect(results.filter(({ conclusion, reason }) => conclusion !== 'skipped' && !/503|reach/.test(reason))).toEqual(
      [],
    );
  },
  scaled(120_000),
);

/** A Schedule of the demo clinic, by the name of its practitioner. */
async function scheduleOf(name: string): Promise<string> {
  const path = `/Schedule?actor:Practitioner.name=${name}`;
  const { resource } = await service.requestor.send({ method: 'GET', path });
  return `Schedule/${Object(resource).entry?.[0]?.resource?.id}`;
}

const conclusions = async (names: RegExp, given: Given): Promise<readonly unknown[]> => {
  const checks = impatient.filter(({ name }) => names.test(name));
  const { results, left } = await service.examine({ withoutStaff: true, checks, given });
  expect(left).toEqual([]);
  return results.map(({ check, conclusion, reason }) => [check.name, conclusion, reason]);
};

test('what a service may leave out has to be prepared: the tests of it fail nothing', async () => {
  const others: readonly (readonly [string, (sent: Sent) => boolean])[] = [
    ['book-taken-slot', ({ path }) => path === '/Patient'],
    ['book-provisional-patient-deactivated', ({ method }) => method === 'PUT'],
  ];
  for (const [name, without] of others) {
    const { results } = await service.examine({
      checks: impatient.filter((check) => check.name === name),
      broken: changing(without, withStatus(405)),
    });
    expect(results).toEqual([
      expect.objectContaining({ conclusion: 'skipped', reason: expect.stringMatching(/^Prepare .*: 405/) }),
    ]);
  }
  const confirming = changing(isBook, (response) =>
    response.status === 202 ? change({ status: 'booked' })(withStatus(201)(response)) : response,
  );
  const { results } = await service.examine({
    checks: impatient.filter(({ name }) => name === 'book-pending'),
    broken: confirming,
  });
  expect(results[0]).toMatchObject({ conclusion: 'skipped', reason: expect.stringContaining('confirm by hand') });
});

test('what has to be prepared is said where there is no access as staff', async () => {
  expect(await conclusions(/^(book-free-slot|book-pending|slots-free)$/, {})).toEqual([
    ['slots-free', 'skipped', expect.stringContaining('Prepare an active Schedule')],
    ['book-free-slot', 'skipped', expect.stringContaining('Prepare free Slots')],
    ['book-pending', 'skipped', expect.stringContaining('confirm by hand')],
  ]);
});

test('free Slots of the Schedule that the tester has prepared are found', async () => {
  const schedule = await scheduleOf('Moreau');
  expect(await conclusions(/^(book-free-slot|patch-cancel|rebook-in-another-slot)$/, { schedule: [schedule] })).toEqual(
    [
      ['book-free-slot', 'passed', ''],
      ['rebook-in-another-slot', 'passed', ''],
      ['patch-cancel', 'passed', ''],
    ],
  );
});

test('what the tester has prepared is used', async () => {
  const schedule = await scheduleOf('Weber');
  const path = `/Slot?status=free&_count=1&schedule=${schedule}`;
  const { resource } = await service.requestor.send({ method: 'GET', path });
  const manualSlot = [`Slot/${Object(resource).entry?.[0]?.resource?.id}`];
  expect(await conclusions(/^book-pending$/, { manualSlot, schedule: [schedule] })).toEqual([
    ['book-pending', 'passed', ''],
  ]);
});
