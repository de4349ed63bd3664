import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import type { Bundle } from '@medplum/fhirtypes';
import type { ServerRequest } from '../../../bots/lib/medplum.ts';
import * as bot from '../../../bots/lib/medplum.ts';
import * as reading from '../../../bots/lib/read.ts';
import { carryOut } from '../../../bots/lib/rows.ts';

const original = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = original;
});

const client = {
  getAccessToken: () => 'own',
  getBaseUrl: () => 'https://medplum.example/',
  fhirUrl: () => new URL('https://medplum.example/fhir/R4'),
} as unknown as MedplumClient;

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

/** Answers the requests of a Bot, one after the other: a status and a body, or an error. */
function answering(...answers: readonly (readonly [number, unknown] | Error | string)[]): Sent[] {
  const sent: Sent[] = [];
  globalThis.fetch = async (url, init = {}) => {
    sent.push({ url: String(url), init });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (!Array.isArray(answer)) {
      throw answer;
    }
    const [status, body] = answer;
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });
  };
  return sent;
}

const batch: Bundle = { resourceType: 'Bundle', type: 'batch', entry: [] };
const done: Bundle = { resourceType: 'Bundle', type: 'batch-response', entry: [] };
const outcome = { resourceType: 'OperationOutcome', issue: [] };

describe('a request of a Bot', () => {
  const deadlock = { ...outcome, issue: [{ details: { text: 'deadlock detected' } }] };
  const refused = (status: number) => ({
    kind: 'failed',
    issue: {
      code: 'upstream-unavailable',
      diagnostics: `The FHIR server answered with status ${status}. Nothing was written; try again in a moment.`,
    },
  });
  const lost = (what: string, code = 'upstream-unavailable') => ({
    kind: 'lost',
    issue: {
      code,
      diagnostics: `${what} The booking may have been stored: send it again with the same Appointment.identifier to get the appointment.`,
    },
  });
  const unreachable = {
    kind: 'failed',
    issue: { code: 'upstream-unavailable', diagnostics: 'The FHIR server cannot be reached.' },
  };
  const invalid = lost('The FHIR server gave an invalid response.');

  it.each<[string, readonly [number, unknown] | Error | string, object]>([
    ['a Bundle', [200, done], { kind: 'done', bundle: done }],
    ['409', [409, outcome], { kind: 'overtaken' }],
    ['412', [412, outcome], { kind: 'overtaken' }],
    ['404 of what was removed', [404, outcome], { kind: 'overtaken' }],
    ['410 of what was removed', [410, outcome], { kind: 'overtaken' }],
    ['404 of something else', [404, {}], refused(404)],
    ['410 of something else', [410, {}], refused(410)],
    ['400 of a deadlock', [400, deadlock], { kind: 'overtaken' }],
    ['400 with a list of issues that is no outcome', [400, { issue: deadlock.issue }], refused(400)],
    ['500 with a Bundle', [500, done], lost('The FHIR server answered with status 500.')],
    ['400', [400, done], refused(400)],
    ['399', [399, outcome], lost('The FHIR server answered with status 399.')],
    ['400 with an outcome', [400, outcome], { kind: 'invalid', outcome }],
    ['400 without an outcome', [400, {}], refused(400)],
    ['401', [401, outcome], refused(401)],
    ['499', [499, outcome], refused(499)],
    [
      '429',
      [429, outcome],
      {
        kind: 'failed',
        issue: { code: 'upstream-unavailable', diagnostics: bot.diagnosticsFor(429) },
        isLimited: true,
      },
    ],
    ['500', [500, outcome], lost('The FHIR server answered with status 500.')],
    ['200 without a Bundle', [200, outcome], lost('The FHIR server answered with status 200.')],
    ['504', [504, outcome], lost('The FHIR server did not answer in time.', 'upstream-timeout')],
    ['no JSON', [200, '<html>'], invalid],
    ['a broken connection', new Error('ECONNRESET'), invalid],
    ['no connection', new Error('connect ECONNREFUSED'), unreachable],
    ['no name', new Error('getaddrinfo EAI_AGAIN x'), unreachable],
    ['no network', 'connect ENETUNREACH', unreachable],
    ['no address', new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND x') }), unreachable],
    ['no route', new TypeError('fetch failed', { cause: 'EHOSTUNREACH' }), unreachable],
  ])('that is answered by %s', async (_, answer, expected) => {
    answering(answer);
    expect(await bot.sendBundle(client, batch)).toEqual(expected);
  });

  it('outside of a batch has a status and a body, or no answer', async () => {
    answering([403, outcome]);
    expect(await bot.get(client, 'auth/me', {})).toEqual({ status: 403, body: outcome });
    answering(new Error('ECONNREFUSED'));
    expect(await bot.get(client, 'auth/me', {})).toBeUndefined();
  });
});

it('Medplum takes no more requests for now: that is said, and what is left waits for the next run', async () => {
  const sent = answering([429, outcome]);
  const act = () => bot.writeUnlessOvertaken(client, [], 'Task/1');
  await expect(carryOut([act, act], Date.now() + 60_000)).rejects.toThrow(
    `Task/1 could not be written (failed). ${bot.RATE_LIMIT}`,
  );
  expect(sent).toHaveLength(1);
  answering([200, { ...done, entry: [{ response: { status: '429' } }] }]);
  await expect(reading.readInBatch(client, ['Slot?a'])).rejects.toThrow(bot.RATE_LIMIT);
});

describe('connections that last', () => {
  const requests: [ServerRequest, number][] = [];
  const lasting = (response: bot.BotResponse | bot.RequestFailure) =>
    ({
      ...client,
      connections: {
        send: async (request: ServerRequest, limit: number) => {
          requests.push([request, limit]);
          return response;
        },
      },
    }) as unknown as MedplumClient;
  afterEach(() => {
    requests.length = 0;
  });

  it.each([
    ['not-connected', 'failed', 'upstream-unavailable'],
    ['no-answer', 'lost', 'upstream-unavailable'],
    ['too-late', 'lost', 'upstream-timeout'],
  ] as const)('say why there is no answer: %s', async (answer, kind, code) => {
    expect(await bot.sendBundle(lasting(answer), batch)).toMatchObject({ kind, issue: { code } });
    expect(await bot.get(lasting(answer), 'auth/me', {})).toBeUndefined();
  });
});

describe('a conflict', () => {
  const counting = (good: number) => {
    const calls: number[] = [];
    const act = async () => calls.push(calls.length);
    return { calls, act, isOvertaken: (count: number) => count < good };
  };

  it('is tried again until there is none', async () => {
    const { calls, act, isOvertaken } = counting(3);
    expect(await bot.retryOvertaken(act, isOvertaken, { most: 5 })).toBe(3);
    expect(calls).toHaveLength(3);
  });

  it('is not tried again when there is no time left', async () => {
    const { act, isOvertaken } = counting(9);
    expect(await bot.retryOvertaken(act, isOvertaken, { most: 5, within: -1 })).toBe(1);
  });
});

describe('a read', () => {
  const found = (...ids: string[]) => ({
    response: { status: '200' },
    resource: { ...done, entry: ids.map((id) => ({ resource: { resourceType: 'Slot', id } })) },
  });
  const answerOf = (...entry: object[]): readonly [number, unknown] => [200, { ...done, entry }];

  it('is sent again when the connection breaks', async () => {
    const sent = answering(new Error('ECONNRESET'), answerOf(found('a')));
    expect(await reading.readInTransaction(client, ['Slot?a'])).toHaveLength(1);
    expect(sent).toHaveLength(2);
    expect(JSON.parse(String(sent[1]?.init.body)).type).toBe('transaction');
  });

  it.each<[string, readonly (readonly [number, unknown] | Error)[], number]>([
    ['the server cannot be reached', [new Error('ECONNREFUSED')], 1],
    ['the connection always breaks', [new Error('ECONNRESET')], 2],
    ['the server is too slow', [[504, outcome]], 1],
    ['it answers too little', [answerOf()], 1],
    ['one search fails', [answerOf({ response: { status: '500' } })], 1],
    ['one answer says nothing', [answerOf({})], 1],
  ])('fails when %s', async (_, answers, attempts) => {
    const sent = answering(...answers);
    await expect(reading.readInBatch(client, ['Slot?a'])).rejects.toThrow(/^The FHIR server could not be read\. /);
    expect(sent).toHaveLength(attempts);
  });
});

describe('what is in the way of a booking', () => {
  const searchset = (ids: readonly string[], hasMore: boolean) => ({
    response: { status: '200' },
    resource: {
      resourceType: 'Bundle',
      link: hasMore ? [{ relation: 'next', url: 'https://medplum.example/more' }] : [],
      entry: ids.map((id) => ({ resource: { resourceType: 'Slot', id } })),
    },
  });
  const bundle = (...entry: readonly object[]) => ({ resourceType: 'Bundle', type: 'batch-response', entry });
  const wanted = { request: { method: 'GET' as const, url: 'Slot?start=lt2031&end=gt2030&_count=950' } };
  const bundleIn = ({ init }: Sent): Bundle => JSON.parse(String(init.body));

  it('is read to its end, as it was at one moment, if Medplum does not find all of it at once', async () => {
    const pages = [searchset(['a', 'b'], true), searchset(['c'], true), ...Array(8).fill(searchset([], false))];
    const sent = answering([200, bundle(searchset(['a'], true))], [200, bundle(...pages)]);
    const found = await reading.readWhole(client, [wanted]);
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(['a', 'b', 'c']));
    const [, second] = sent.map(bundleIn);
    expect(second?.type).toBe('transaction');
    const offsets = (second?.entry ?? []).map(({ request }) => new URLSearchParams(request?.url).get('_offset'));
    expect(offsets).toEqual(['0', '950', '1900', '2850', '3800', '4750', '5700', '6650', '7600', '8550']);
  });

  it('is no decision if there is more of it than Medplum finds', async () => {
    answering([200, bundle(searchset(['a'], true))], [200, bundle(...Array(10).fill(searchset(['b'], true)))]);
    await expect(reading.readWhole(client, [wanted])).rejects.toThrow('more Slots at that time');
  });
});
