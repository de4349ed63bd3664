import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { FastifyInstance } from 'fastify';
import { type CallableBot, callableBots } from '../../../core/config/bots.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import type { BotClient, BotHandler, HostedBots } from '../../../gateway/bots/in-gateway.ts';
import { base, config, type FakeMedplum, fhirJson, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';

let fake: FakeMedplum;
let verify: FakeMedplum['verify'];
let gateway: FastifyInstance;
let now = 0;
let handler: BotHandler;
/** How Medplum lets the gateway in, and with what the logins asked to be anew. */
let letIn: (anew: boolean) => Promise<void>;
const logins: boolean[] = [];
let ownToken = 'own-1';

const appointment = { resourceType: 'Appointment', id: 'made', status: 'booked', participant: [] };
const permitted = {
  body: { resourceType: 'Bundle', type: 'searchset', entry: [{ resource: { resourceType: 'Bot' } }] },
};
const unavailable = toOperationOutcome([{ code: 'upstream-unavailable', diagnostics: 'No answer.' }], config);

/** What a Bot uses of the client, in front of the connections of the gateway. */
const clientFor: HostedBots['clientFor'] = (connections) =>
  ({ connections, getAccessToken: () => ownToken }) as Partial<BotClient> as BotClient;

const logIn: HostedBots['logIn'] = (_client, anew) => {
  logins.push(anew);
  return letIn(anew);
};

const send = (medplum: MedplumClient, path: string, authorization: string, body?: string) => {
  const { connections } = medplum as BotClient;
  return connections.send({ url: `${fake.url}/${path}`, headers: { authorization }, body }, 1000);
};

beforeAll(async () => {
  fake = await startFakeMedplum();
  ({ verify } = fake);
  const entries = callableBots.map((name) => [name, (...given: Parameters<BotHandler>) => handler(...given)] as const);
  const handlers = Object.fromEntries(entries) as Record<CallableBot, BotHandler>;
  gateway = gatewayTo(fake, {}, { bots: { handlers, clientFor, logIn }, now: () => now });
});

afterAll(async () => {
  await gateway.close();
  await fake.close();
});

beforeEach(() => {
  now += 100_000;
  fake.received.length = 0;
  fake.verify = verify;
  fake.answer = ({ path }) => (path === '/fhir/R4/Bot' ? permitted : undefined);
  handler = async () => appointment;
  logins.length = 0;
  letIn = async () => undefined;
});

const book = (headers: Record<string, string> = fhirJson) =>
  gateway.inject({
    method: 'POST',
    url: `${base}/Appointment/$book`,
    headers,
    payload: { resourceType: 'Appointment' },
  });

test('a Bot gets the body, the credentials of the caller and who calls, and its answer is that of the gateway', async () => {
  const events: BotEvent<unknown>[] = [];
  handler = async (_, event) => {
    events.push(event);
    return appointment;
  };
  const answer = await book();
  expect(answer.statusCode).toBe(201);
  expect(answer.json()).toMatchObject({ id: 'made' });
  expect(events).toMatchObject([
    {
      input: { resourceType: 'Appointment' },
      headers: { authorization: 'Bearer portal-a' },
      requester: { reference: 'ClientApplication/portal-a-id' },
    },
  ]);
  expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Bot']);
});

test('whoever may not read the Bot in Medplum may not call it: asked with the token of the caller, 403', async () => {
  const calls: unknown[] = [];
  handler = async () => calls.push('called');
  fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset' } });
  expect((await book()).statusCode).toBe(403);
  expect(fake.received).toMatchObject([{ path: '/fhir/R4/Bot', headers: { authorization: 'Bearer portal-a' } }]);
  expect(calls).toEqual([]);
});

test('the right to call a Bot is asked again after ten seconds', async () => {
  await book();
  now += 9_000;
  await book();
  expect(fake.received).toHaveLength(1);
  now += 2_000;
  fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset' } });
  expect((await book()).statusCode).toBe(403);
});

test('a token that Medplum refuses since it was verified is 401', async () => {
  await book();
  handler = async () => unavailable;
  expect((await book()).statusCode).toBe(503);
  fake.verify = () => ({ status: 401 });
  expect((await book()).statusCode).toBe(401);
});

test('what a Bot throws is no answer: 503, and its words stay inside', async () => {
  handler = async () => {
    throw new Error('secret words');
  };
  const answer = await book();
  expect(answer.statusCode).toBe(503);
  expect(answer.body).not.toContain('secret');
});

test('a gateway that Medplum does not let in answers 503, and calls no Bot', async () => {
  const calls: unknown[] = [];
  handler = async () => calls.push('called');
  letIn = () => Promise.reject(new Error('invalid_client'));
  expect((await book()).statusCode).toBe(503);
  expect(calls).toEqual([]);
});

test('a token of its own that Medplum refuses is replaced before the next call', async () => {
  handler = async (medplum) => {
    const answer = await send(medplum, 'fhir/R4', `Bearer ${ownToken}`, '{}');
    return typeof answer !== 'string' && answer.status === 200 ? appointment : unavailable;
  };
  fake.answer = ({ path, headers }) =>
    path === '/fhir/R4/Bot' ? permitted : { status: headers.authorization === 'Bearer own-2' ? 200 : 401, body: {} };
  letIn = async (anew) => {
    ownToken = anew ? 'own-2' : ownToken;
  };
  expect((await book()).statusCode).toBe(503);
  expect((await book()).statusCode).toBe(201);
  expect(logins).toEqual([false, true]);
});

test.each<[string, string, number | string]>([
  ['answers', 'fhir/R4', 200],
  ['refuses', 'fhir/R4/none', 404],
])('a Bot sees the status when Medplum %s', async (_, path, expected) => {
  const answers: unknown[] = [];
  handler = async (medplum) => {
    const answer = await send(medplum, path, 'Bearer portal-a');
    answers.push(typeof answer === 'string' ? answer : answer.status);
    return appointment;
  };
  fake.answer = ({ path: asked }) => {
    const isThere = asked === '/fhir/R4/Bot' || asked === '/fhir/R4';
    return isThere ? permitted : undefined;
  };
  await book();
  expect(answers).toEqual([expected]);
});
