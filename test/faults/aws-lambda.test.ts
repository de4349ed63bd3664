import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { type BotName, botSource, bots } from '../../core/config/bots.ts';
import { timeLimits } from '../../core/config/config.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { bundleBot } from '../../scripts/build/bots.ts';
import { codeTitle } from '../../scripts/deploy/bots.ts';
import { createLambda, type Invocation, type Lambda } from '../lib/aws-lambda/lambda.ts';
import { extensionOf } from '../lib/aws-lambda/wrapper.ts';
import { gatewayClient } from './gateway-client.ts';
import { prepareInstallation } from './installation.ts';
import { about, type FaultyProxy, faults, isTransaction, once, startProxy } from './proxy.ts';

type Config = Parameters<typeof bundleBot>[1];

let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let config: Config;
let requester: { reference: string };
let accessToken: string;
const open: Lambda[] = [];

beforeAll(async () => {
  proxy = await startProxy();
  // The client of a gateway that runs Bots has the rights of the Bots, and a secret to log in with.
  const installation = await prepareInstallation({}, { bots: 'gateway' });
  proxy.target = installation.medplumUrl;
  [fixtures, http, { config }] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/installation.ts'),
  ]);
  await installation.start();
  const me = await fetch(`${installation.medplumUrl}auth/me`, { headers: { authorization: 'Bearer portal-a' } });
  const { profile } = (await me.json()) as { profile: { id: string } };
  requester = { reference: `ClientApplication/${profile.id}` };
  accessToken = await tokenOfGateway(installation.medplumUrl);
});

afterAll(async () => {
  await Promise.all(open.map((lambda) => lambda.end()));
});

async function tokenOfGateway(medplumUrl: string): Promise<string> {
  const { id = '', secret = '' } = (await gatewayClient(http)) ?? {};
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const response = await fetch(`${medplumUrl}oauth2/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

async function lambdaOf(name: BotName, changes: Partial<Config> = {}): Promise<Lambda> {
  const own = { ...config, ...changes };
  const seconds = Math.round(timeLimits(own).bot / 1000);
  const lambda = await createLambda(await bundleBot(botSource(name), own), seconds);
  open.push(lambda);
  return lambda;
}

/** What Medplum sends to the function. */
const eventOf = (input: unknown) => ({
  bot: { reference: 'Bot/lambda' },
  baseUrl: proxy.url,
  requester,
  accessToken,
  input,
  contentType: 'application/fhir+json',
  secrets: {},
  traceId: '00-1234',
  headers: { authorization: 'Bearer portal-a', 'content-type': 'application/fhir+json' },
});

function appointmentIn({ success, returnValue }: Invocation): Appointment {
  if (!success || !isResource(returnValue, 'Appointment')) {
    throw new Error(`There is no appointment: ${JSON.stringify(returnValue)}`);
  }
  return returnValue;
}

it.each(Object.keys(bots) as BotName[])('the Bot %s is what Medplum takes for CommonJS, and loads', async (name) => {
  const code = await bundleBot(botSource(name), config);
  expect(extensionOf(codeTitle(name, code), code)).toBe('.cjs');
  const lambda = await createLambda(code, 10);
  open.push(lambda);
  const input = { resourceType: 'Appointment' };
  const event = { baseUrl: 'http://127.0.0.1:1/', accessToken: 'none', headers: {}, input };
  const { returnValue } = await lambda.invoke(event);
  expect(JSON.stringify(returnValue ?? null)).not.toMatch(/is not defined|Cannot find module|SyntaxError/);
});

it('books, finds what it has booked, changes it and cancels it', async () => {
  const { schedule, slot, patient } = await fixtures.aClinic();
  const [book, patch] = await Promise.all([lambdaOf('book'), lambdaOf('patch')]);
  const identifier = [{ system: 'urn:test', value: `${slot.id}` }];
  const event = eventOf(fixtures.proposed(patient, [slot], { identifier }));
  const booked = appointmentIn(await book.invoke(event));
  expect(booked.status).toBe('booked');
  expect(appointmentIn(await book.invoke(event)).id).toBe(booked.id);
  expect(await fixtures.slotsOf(schedule)).toEqual(['busy 0-30']);
  const change = [{ op: 'replace', path: '/status', value: 'cancelled' }];
  const input = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'id', valueId: booked.id },
      { name: 'patch', valueString: JSON.stringify(change) },
    ],
  };
  expect(appointmentIn(await patch.invoke(eventOf(input))).status).toBe('cancelled');
  expect(await fixtures.slotsOf(schedule)).toEqual(['free 0-30']);
});

it('refuses by an OperationOutcome, which Medplum answers with', async () => {
  const book = await lambdaOf('book');
  const { success, returnValue } = await book.invoke(eventOf({ resourceType: 'Appointment' }));
  expect(success).toBe(true);
  expect(returnValue).toMatchObject({ resourceType: 'OperationOutcome', id: expect.any(String) });
});

it('the guard allows and refuses before a write', async () => {
  const { slot, patient } = await fixtures.aClinic();
  const stored = http.resourceIn('Appointment', await fixtures.book(fixtures.proposed(patient, [slot])));
  const guard = await lambdaOf('validate-appointment');
  expect((await guard.invoke(eventOf({ ...stored, comment: 'By staff' }))).returnValue).toBe(true);
  const moved = { ...stored, start: stored.end, end: stored.start };
  expect((await guard.invoke(eventOf(moved))).returnValue).toMatchObject({ resourceType: 'OperationOutcome' });
});

it('stands still between two bookings while its connections end, and books again', async () => {
  const { slot, patient } = await fixtures.aClinic();
  const book = await lambdaOf('book');
  appointmentIn(await book.invoke(eventOf(fixtures.proposed(patient, [slot]))));
  book.freeze();
  proxy.closeConnections();
  const next = await fixtures.aClinic();
  book.thaw();
  appointmentIn(await book.invoke(eventOf(fixtures.proposed(next.patient, [next.slot]))));
});

it('a server that never answers: the Bot says so within its time limit', async () => {
  const { slot, patient } = await fixtures.aClinic();
  const book = await lambdaOf('book', { timeout: 6 });
  proxy.choose = () => async () => undefined;
  const answer = await book.invoke(eventOf(fixtures.proposed(patient, [slot])));
  proxy.choose = () => undefined;
  expect(answer).toMatchObject({ success: true, returnValue: { resourceType: 'OperationOutcome' } });
});

it('killed at its time limit after the transaction: the booking sent again is that booking', async () => {
  const { slot, patient } = await fixtures.aClinic();
  const book = await lambdaOf('book', { timeout: 600 });
  const impatient = await createLambda(await bundleBot(botSource('book'), { ...config, timeout: 600 }), 3);
  open.push(impatient);
  const event = eventOf(
    fixtures.proposed(patient, [slot], { identifier: [{ system: 'urn:test', value: `${slot.id}` }] }),
  );
  proxy.choose = once(faults.silent, about(slot, isTransaction));
  expect((await impatient.invoke(event)).success).toBe(false);
  const booked = appointmentIn(await book.invoke(event));
  expect(await fixtures.appointmentsOn(slot)).toMatchObject([{ id: booked.id }]);
});
