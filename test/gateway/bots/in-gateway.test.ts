import { describe, expect, test } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import pino from 'pino';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { createBotConnections } from '../../../gateway/bots/connections.ts';
import {
  type BotClient,
  type BotHandler,
  botsInGateway,
  createOwnToken,
  type HostedBots,
} from '../../../gateway/bots/in-gateway.ts';
import { botsInMedplum } from '../../../gateway/bots/in-medplum.ts';
import type { BotCall } from '../../../gateway/bots/runtime.ts';
import {
  createUpstream,
  type MedplumResponse,
  type Upstream,
  type UpstreamCall,
  type UpstreamFailure,
} from '../../../gateway/medplum/client.ts';
import type { Caller, Callers, Identification } from '../../../gateway/medplum/current-profile.ts';
import { loginAt } from '../../../scripts/gateway/hosted-bots.ts';
import { scaled } from '../../lib/time-scale.ts';
import { config, startFakeMedplum } from '../fake-medplum.ts';

const answered = (status: number, body?: unknown): MedplumResponse => ({ status, headers: {}, body });
const found = answered(200, { resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Bot' } }] });

const caller: Caller = {
  profileType: 'ClientApplication',
  profileId: 'a',
  project: 'p',
  role: 'requestor',
  findsAllOf: [],
  versions: {},
};

const refusedToken = answered(401);

interface Surroundings {
  /** What Medplum answers to the gateway. */
  readonly medplum?: (asked: UpstreamCall) => MedplumResponse | UpstreamFailure;
  /** What Medplum says of the token of the caller when it is asked anew. */
  readonly verified?: Identification;
  readonly logIn?: HostedBots['logIn'];
  /** In seconds. */
  readonly timeout?: number;
}

/** The Bot `book` in a gateway, and what it leaves behind. */
function hosted(handler: BotHandler, { medplum = () => found, verified = caller, ...given }: Surroundings = {}) {
  const clock = { now: 0 };
  const asked: UpstreamCall[] = [];
  const tokens: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const call: Upstream['call'] = async (upstreamCall) => {
    asked.push(upstreamCall);
    return medplum(upstreamCall);
  };
  const verify: Callers['verify'] = async (authorization) => {
    tokens.push(authorization);
    return verified;
  };
  const bots = botsInGateway(
    {
      handlers: { book: handler } as Partial<HostedBots['handlers']> as HostedBots['handlers'],
      clientFor: (connections) =>
        ({
          connections,
          getAccessToken: () => 'own',
          getActiveLogin: () => ({ project: { reference: 'Project/p' } }),
        }) as Partial<BotClient> as BotClient,
      logIn: given.logIn ?? (async () => undefined),
    },
    {
      config: { ...config, timeout: given.timeout ?? 60 },
      medplumBaseUrl: 'http://medplum/',
      upstream: { call } as Partial<Upstream> as Upstream,
      callers: { verify } as Partial<Callers> as Callers,
      logger: pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) }),
      now: () => clock.now,
    },
  );
  const run = (more: Partial<BotCall> = {}) =>
    bots.run({ name: 'book', input: { a: 1 }, headers: { authorization: 'Bearer a' }, caller, ...more });
  return { bots, run, clock, asked, tokens, lines };
}

const outcome = (id: string) => ({ resourceType: 'OperationOutcome', id, issue: [{ code: 'invalid' }] });
const noAnswer = toOperationOutcome([{ code: 'upstream-unavailable', diagnostics: 'x' }], config);

describe('a Bot that runs', () => {
  test.each<[unknown, number]>([
    [{ resourceType: 'Appointment' }, 200],
    [undefined, 200],
    [outcome('forbidden'), 403],
    [outcome('not-found'), 404],
    [outcome('gone'), 410],
    [outcome('conflict'), 409],
    [outcome('other'), 400],
    [{ ...outcome('forbidden'), id: undefined }, 400],
  ])('and returns %j is answered with the status that Medplum makes of it: %i', async (body, status) => {
    expect(await hosted(async () => body).run()).toEqual(answered(status, body));
  });

  test('too long is a time-out, and is counted on', async () => {
    const gate = Promise.withResolvers<void>();
    const { bots, run } = hosted(() => gate.promise, { timeout: 0.02 });
    expect(await run()).toEqual({ failure: 'timeout' });
    expect(bots.pending()).toBe(1);
    gate.resolve();
  });

  test('and throws is answered 400 without words; the operator learns which and where, and nothing of a person', async () => {
    const { bots, run, lines } = hosted(() => Promise.reject(new RangeError('Kim Muster')));
    expect(await run()).toEqual(answered(400));
    expect(lines).toEqual([expect.objectContaining({ bot: 'book', type: 'RangeError', msg: 'A Bot has failed.' })]);
    expect(JSON.stringify(lines)).toMatch(/in-gateway\.test\.ts/);
    expect(JSON.stringify(lines)).not.toContain('Muster');
    expect(bots.pending()).toBe(0);
  });
});

test('a Bot that the gateway does not have runs in Medplum', async () => {
  const { run, asked } = hosted(async () => 'here', { medplum: () => answered(200, 'there') });
  expect(await run({ name: 'absence' })).toEqual(answered(200, 'there'));
  expect(asked.map(({ path }) => path)).toEqual(['fhir/R4/Bot/$execute']);
});

describe('whether a caller may call a Bot', () => {
  test.each<[MedplumResponse | UpstreamFailure, MedplumResponse | UpstreamFailure]>([
    [{ failure: 'timeout' }, { failure: 'timeout', isUnsent: true }],
    [answered(504, 'x'), { failure: 'timeout', isUnsent: true }],
    [answered(500, 'x'), { failure: 'unavailable', isUnsent: true }],
    [answered(401), answered(401)],
    [answered(200, { resourceType: 'Bundle' }), answered(403)],
    [answered(200, { resourceType: 'Bundle', entry: [] }), answered(403)],
    [answered(200, { resourceType: 'Slot', entry: [{}] }), answered(403)],
    [answered(200), answered(403)],
  ])('Medplum answers %j: %j, and no Bot runs', async (response, expected) => {
    const runs: unknown[] = [];
    const { run } = hosted(async () => runs.push('run'), { medplum: () => response });
    expect([await run(), runs]).toEqual([expected, []]);
    await run();
    expect(runs).toEqual([]);
  });

  test.each([
    ['another Project', { ...caller, project: 'other' }],
    ['no Project that Medplum names', { ...caller, project: undefined }],
    ['nobody', undefined],
  ])('is decided by its Project: of %s, it may read a Bot of that name, and no Bot runs', async (_, stranger) => {
    const runs: unknown[] = [];
    const { run } = hosted(async () => runs.push('run'));
    expect([await run({ caller: stranger }), runs]).toEqual([answered(403), []]);
  });
});

describe('after an answer that may be due to the credentials', () => {
  const foreign = { system: 'urn:x', code: 'upstream-unavailable' };
  const other = { ...noAnswer.issue[0]?.details?.coding?.[0], code: 'slot-not-free' };
  const withCoding = (...coding: object[]) => ({ resourceType: 'OperationOutcome', issue: [{ details: { coding } }] });

  test.each<[string, () => Promise<unknown>, boolean]>([
    ['nothing from Medplum', async () => noAnswer, true],
    ['403', async () => outcome('forbidden'), true],
    ['a fault', () => Promise.reject(new Error('fault')), true],
    ['that among others', async () => withCoding(other, noAnswer.issue[0]?.details?.coding?.[0] ?? {}), true],
    ['404', async () => outcome('not-found'), false],
    ['another refusal', async () => withCoding(other), false],
    ['a code of somebody else', async () => withCoding(foreign), false],
    ['an issue without details', async () => outcome('x'), false],
    ['a resource', async () => ({ resourceType: 'Appointment' }), false],
  ])('%s: the token is verified anew: %s', async (_, handler, isDoubtful) => {
    const { run, tokens } = hosted(handler, { verified: refusedToken });
    expect((await run()) === refusedToken).toBe(isDoubtful);
    expect(tokens).toEqual(isDoubtful ? ['Bearer a'] : []);
  });

  test('a time-out is one: nothing is asked', async () => {
    const { run, tokens } = hosted(() => new Promise(() => undefined), { timeout: 0.02, verified: refusedToken });
    expect([await run(), tokens]).toEqual([{ failure: 'timeout' }, []]);
  });

  test.each<[string, Identification]>([
    ['the token is good', caller],
    ['Medplum is not there', { failure: 'unavailable' }],
    ['Medplum fails', answered(500)],
  ])('it stays if %s', async (_, verified) => {
    const { run } = hosted(async () => noAnswer, { verified });
    expect(await run()).toMatchObject({ body: noAnswer });
  });
});

describe('the token of the gateway itself', () => {
  test.each([
    ['401 to its own token', 401, 'Bearer own', [false, true]],
    ['401 to the token of a caller', 401, 'Bearer a', [false, false]],
    ['403 to its own token', 403, 'Bearer own', [false, false]],
  ])('is replaced after Medplum answers %s', async (_, status, authorization, expected) => {
    const logins: boolean[] = [];
    const handler = (client: MedplumClient) =>
      (client as BotClient).connections.send({ url: 'http://medplum/fhir/R4/x', headers: { authorization } }, 1_000);
    const { run } = hosted(handler, {
      medplum: ({ path }) => (path === 'fhir/R4/Bot' ? found : answered(status)),
      logIn: async (_client, again) => void logins.push(again),
    });
    await run();
    await run();
    expect(logins).toEqual(expected);
  });
});

test('a login that Medplum does not answer ends in time, and the next one can succeed', async () => {
  const fake = await startFakeMedplum();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  fake.answer = () => promise;
  const { clientFor, logIn } = loginAt({ ...config, timeout: 5 }, fake.url, {
    clientId: 'a',
    clientSecret: 'b',
  });
  const client = clientFor({} as BotClient['connections']);
  await expect(logIn(client, false)).rejects.toThrow();
  expect(fake.received).toHaveLength(1);
  const claims = { exp: Math.floor(Date.now() / 1_000) + 3_600, client_id: 'a', login_id: 'c' };
  const token = `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  const profile = { reference: 'ClientApplication/a' };
  fake.answer = () => ({ body: { access_token: token, refresh_token: 'x', project: {}, profile } });
  await logIn(client, false);
  expect(client.getAccessToken()).toBe(token);
  resolve(undefined);
  await fake.close();
});

const limits = {
  connectTimeoutMs: scaled(500),
  upstreamTimeoutMs: scaled(1_000),
  responseBytes: 1_000,
  connections: 2,
};

async function sent(baseUrl: string, limit = scaled(1_000)): Promise<unknown> {
  const upstream = createUpstream(baseUrl, limits);
  const { send } = createBotConnections(upstream, upstream.baseUrl, () => undefined);
  const answer = await send({ url: `${upstream.baseUrl}fhir/R4`, headers: {}, body: '{}' }, limit);
  await upstream.close();
  return answer;
}

test('a server that cannot be reached has done nothing', async () => {
  expect(await sent('http://127.0.0.1:1/')).toBe('not-connected');
});

test('a server that ends the connection may have done it', async () => {
  const fake = await startFakeMedplum();
  fake.answer = () => ({ body: 'half an answ', headers: { 'content-type': 'text/plain' } });
  expect(await sent(fake.url)).toBe('no-answer');
});

test('a server that takes too long may have done it', async () => {
  const fake = await startFakeMedplum();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  fake.answer = () => promise;
  expect(await sent(fake.url, 50)).toBe('too-late');
  resolve(undefined);
});

/** What becomes of a token of its own when calls ask for it (`?`) and Medplum refuses it (`!`), and which logins fail. */
test.each<[acts: string, failing: readonly number[], isThere: readonly boolean[], anew: readonly boolean[]]>([
  ['??', [], [true, true], [false, false]],
  ['!??', [], [true, true], [true, false]],
  ['!???', [0], [false, true, true], [true, true, false]],
  ['??', [0], [false, true], [false, false]],
])('%s with the failing logins %j: %j', async (acts, failing, isThere, again) => {
  const [logins, lines] = [[] as boolean[], [] as Record<string, unknown>[]];
  const logIn = async (isAnew: boolean): Promise<void> => {
    logins.push(isAnew);
    if (failing.includes(logins.length - 1)) {
      throw new Error('invalid_client');
    }
  };
  const logger = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const token = createOwnToken(logIn, logger);
  const found: boolean[] = [];
  for (const act of acts) {
    if (act === '!') {
      token.refused();
    } else {
      found.push(await token.isThere());
    }
  }
  expect([found, logins]).toEqual([isThere, again]);
  const err = expect.objectContaining({ message: 'invalid_client' });
  const msg = expect.stringContaining('check BOTS_CLIENT_ID');
  expect(lines).toEqual(failing.map(() => expect.objectContaining({ err, msg })));
  expect(await createOwnToken(() => Promise.reject(new Error('x')), undefined).isThere()).toBe(false);
});

test.each([true, false])(
  'calls at once share a login; a refusal during it counts for the next one (works: %s)',
  async (works) => {
    const gate = Promise.withResolvers<void>();
    const logins: boolean[] = [];
    const token = createOwnToken((again) => {
      logins.push(again);
      return logins.length === 1 ? gate.promise : Promise.resolve();
    }, undefined);
    const first = [token.isThere(), token.isThere()];
    token.refused();
    works ? gate.resolve() : gate.reject(new Error('unavailable'));
    expect(await Promise.all(first)).toEqual([works, works]);
    await token.isThere();
    expect(logins).toEqual([false, true]);
  },
);

/** Runs the Bot `book` in a Medplum that answers so. */
async function run(response: MedplumResponse | UpstreamFailure) {
  const bots = botsInMedplum({ call: async () => response } as Partial<Upstream> as Upstream, config);
  const headers = { authorization: 'Bearer portal-a', 'content-type': 'x' };
  const found = await bots.run({ name: 'book', input: { a: 1 }, headers, caller: undefined });
  expect(bots.pending()).toBe(0);
  return found;
}

test.each<[string, MedplumResponse]>([
  ['401', { status: 401, headers: { x: 'y' }, body: 'secret' }],
  [
    'its client is gone',
    { status: 400, headers: {}, body: { issue: [{ details: { text: 'Authentication error' } }] } },
  ],
])('a token that is refused meanwhile is 401: %s', async (_, response) => {
  expect(await run(response)).toEqual({ status: 401, headers: {}, body: undefined });
});

test.each<[MedplumResponse | UpstreamFailure]>([
  [{ failure: 'timeout' }],
  [{ status: 400, headers: {}, body: { issue: [{ details: { text: 'Other' } }] } }],
  [{ status: 403, headers: {}, body: undefined }],
])('every other answer is passed on: %j', async (response) => {
  expect(await run(response)).toBe(response);
});
