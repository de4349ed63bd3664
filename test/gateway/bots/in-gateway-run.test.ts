import { describe, expect, test } from '@jest/globals';
import type { BotEvent, MedplumClient } from '@medplum/core';
import pino from 'pino';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { type BotClient, type BotHandler, botsInGateway, type HostedBots } from '../../../gateway/bots/in-gateway.ts';
import type { BotCall } from '../../../gateway/bots/runtime.ts';
import type { Upstream, UpstreamAnswer, UpstreamCall, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import type { Caller, Callers, Identification } from '../../../gateway/medplum/current-profile.ts';
import { config } from '../fake-medplum.ts';

const answered = (status: number, body?: unknown): UpstreamAnswer => ({ status, headers: {}, body });
const found = answered(200, { resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Bot' } }] });
const caller: Caller = {
  profileType: 'ClientApplication',
  profileId: 'a',
  role: 'requestor',
  findsAllOf: [],
  versions: {},
};
const refusedToken = answered(401);

interface Surroundings {
  /** What Medplum answers to the gateway. */
  readonly medplum?: (asked: UpstreamCall) => UpstreamAnswer | UpstreamFailure;
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
  const call: Upstream['call'] = async (one) => {
    asked.push(one);
    return medplum(one);
  };
  const verify: Callers['verify'] = async (authorization) => {
    tokens.push(authorization);
    return verified;
  };
  const bots = botsInGateway(
    {
      handlers: { book: handler } as Partial<HostedBots['handlers']> as HostedBots['handlers'],
      clientFor: (connections) => ({ connections, getAccessToken: () => 'own' }) as Partial<BotClient> as BotClient,
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

const outcome = (id: string) => ({ resourceType: 'OperationOutcome', id, issue: [{ code: 'exception' }] });
const noAnswer = toOperationOutcome([{ code: 'upstream-unavailable', diagnostics: 'x' }], config);

describe('a Bot that runs', () => {
  test('is told what Medplum tells Bots', async () => {
    const events: BotEvent<unknown>[] = [];
    const { run } = hosted(async (_, event) => void events.push(event));
    await run({ caller: { ...caller, display: 'Portal A' } });
    await run();
    await run({ caller: undefined });
    const event = {
      bot: {},
      contentType: 'application/fhir+json',
      input: { a: 1 },
      secrets: {},
      headers: { authorization: 'Bearer a' },
    };
    expect(events).toStrictEqual([
      { ...event, requester: { reference: 'ClientApplication/a', display: 'Portal A' } },
      { ...event, requester: { reference: 'ClientApplication/a' } },
      { ...event, requester: undefined },
    ]);
  });

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

  test('is counted until it has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const { bots, run } = hosted(() => gate.promise);
    const [one, other] = [run(), run()];
    await new Promise((resolve) => setImmediate(resolve));
    expect(bots.pending()).toBe(2);
    gate.resolve();
    await Promise.all([one, other]);
    expect(bots.pending()).toBe(0);
  });

  test('too long is a time-out, and is counted on', async () => {
    const gate = Promise.withResolvers<void>();
    const { bots, run } = hosted(() => gate.promise, { timeout: 0.02 });
    expect(await run()).toEqual({ failure: 'timeout' });
    expect(bots.pending()).toBe(1);
    gate.resolve();
  });

  test('and throws is answered 400 without words; the operator learns which and why', async () => {
    const { bots, run, lines } = hosted(() => Promise.reject(new Error('fault')));
    expect(await run()).toEqual(answered(400));
    expect(lines).toEqual([
      expect.objectContaining({
        bot: 'book',
        err: expect.objectContaining({ message: 'fault' }),
        msg: 'A Bot has failed.',
      }),
    ]);
    expect(bots.pending()).toBe(0);
  });
});

describe('whether a caller may call a Bot', () => {
  test.each<[UpstreamAnswer | UpstreamFailure, UpstreamAnswer | UpstreamFailure]>([
    [{ failure: 'timeout' }, { failure: 'timeout' }],
    [answered(401), answered(401)],
    [answered(500, 'x'), answered(500, 'x')],
    [answered(200, { resourceType: 'Bundle' }), answered(403)],
    [answered(200, { resourceType: 'Bundle', entry: [] }), answered(403)],
    [answered(200, { resourceType: 'Slot', entry: [{}] }), answered(403)],
    [answered(200), answered(403)],
  ])('Medplum answers %j: %j, and no Bot runs', async (answer, expected) => {
    const runs: unknown[] = [];
    const { run } = hosted(async () => runs.push('run'), { medplum: () => answer });
    expect([await run(), runs]).toEqual([expected, []]);
    await run();
    expect(runs).toEqual([]);
  });

  test('does not matter while the gateway is not let in: nothing was sent', async () => {
    const { run } = hosted(async () => 'done', { logIn: () => Promise.reject(new Error('no')) });
    expect(await run()).toEqual({ failure: 'unavailable', isUnsent: true });
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
      logIn: async (_client, anew) => void logins.push(anew),
    });
    await run();
    await run();
    expect(logins).toEqual(expected);
  });
});
