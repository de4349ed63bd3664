import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { parseCredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { buildGateway } from '../../gateway/server.ts';
import { loadConfig } from '../../scripts/cli/load-config.ts';
import { sealedTokens } from '../../scripts/demo/sealed-tokens.ts';
import type { Answer } from '../contract/http.ts';
import { atEnd } from '../lib/at-end.ts';
import { freePort } from '../lib/free-port.ts';
import { until } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';
import { type Fault, type FaultyProxy, faults, observed, once, type Passing, startProxy } from './proxy.ts';

let proxy: FaultyProxy;
/** Gateways that wait as long as they do by default, and less long. */
let gateway: FastifyInstance;
let impatient: FastifyInstance;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');

beforeAll(async () => {
  proxy = await startProxy();
  const installation = await prepareInstallation();
  const port = await freePort();
  const [baseUrl, key] = [`http://localhost:${port}/fhir/R4`, process.env.CREDENTIALS_KEY ?? ''];
  Object.assign(process.env, { BOOKING_BASE_URL: baseUrl, ...(await sealedTokens(baseUrl, key)) });
  [fixtures, http] = await Promise.all([import('../contract/fixtures.ts'), import('../contract/http.ts')]);
  await installation.start();
  proxy.target = installation.medplumUrl;
  const config = { ...loadConfig(), baseUrl };
  const sealing = { keys: parseCredentialKeys(key), unsealed: 'refused' as const };
  gateway = buildGateway({ config: { ...config, timeout: 150 }, medplumBaseUrl: proxy.url, sealing });
  impatient = buildGateway({ config, medplumBaseUrl: proxy.url, sealing, limits: { upstreamTimeoutMs: 700 } });
  atEnd(() => Promise.all([gateway.close(), impatient.close()]));
  await gateway.listen({ port, host: 'localhost' });
});

const isBooking = ({ path, method }: Passing): boolean => method === 'POST' && path.includes('execute');
const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

/** Whether an answer says how to book again safely; one that was given up before the booking was sent does not. */
const tellsOfBooking = ({ text }: Answer): boolean => text.includes('Appointment.identifier');

/** A booking by way of the gateway that waits less long. */
async function bookImpatiently(body: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${process.env.PORTAL_A_TOKEN}`, 'content-type': 'application/fhir+json' };
  const response = await impatient.inject({
    method: 'POST',
    url: '/fhir/R4/Appointment/$book',
    headers,
    payload: JSON.stringify(body),
  });
  const type = String(response.headers['content-type']);
  return {
    status: response.statusCode,
    headers: new Headers({ 'content-type': type }),
    text: response.body,
    body: response.json(),
  };
}

describe.each([
  ['cut', 503, 'upstream-unavailable', 201],
  ['lost', 503, 'upstream-unavailable', 200],
  ['half', 503, 'upstream-unavailable', 200],
  ['done, but 502', 503, 'upstream-unavailable', 200],
  ['silent', 504, 'upstream-timeout', 200],
  ['late', 504, 'upstream-timeout', 200],
  [500, 503, 'upstream-unavailable', 201],
  [503, 503, 'upstream-unavailable', 201],
] as const)('Medplum answers the gateway: %s', (name, status, code, retry) => {
  it(`the client gets ${status}, coded, and the retry tells the truth`, async () => {
    const { slot, patient } = await fixtures.aClinic();
    const body = fixtures.proposed(patient, [slot], { identifier: identifier() });
    const { fault, carriedOut } = observed(faults[name]);
    let isMet = false;
    const meet: Fault = (...passing) => {
      isMet = true;
      return fault(...passing);
    };
    proxy.choose = once(meet, isBooking);
    // On a busy machine it may not even come to the booking.
    const wasSent = (given: Answer): boolean => isMet || tellsOfBooking(given);
    const response = await (status === 504 ? until(() => bookImpatiently(body), wasSent) : fixtures.book(body));
    expect([response.status, ...http.issuesOf(response)]).toEqual([status, code]);
    expect(http.isActionable(response)).toBe(true);
    expect(tellsOfBooking(response)).toBe(true);
    await (retry === 200 ? carriedOut : undefined);
    const again = await fixtures.book(body);
    expect(again.status).toBe(retry);
    expect(await fixtures.appointmentsOn(slot)).toMatchObject([{ id: http.resourceIn('Appointment', again).id }]);
  });
});

it('Medplum has had too many requests: 429 with Retry-After, nothing booked', async () => {
  const { slot, patient } = await fixtures.aClinic();
  const body = fixtures.proposed(patient, [slot], { identifier: identifier() });
  proxy.choose = once(faults[429], isBooking);
  const response = await fixtures.book(body);
  expect([response.status, response.headers.has('retry-after')]).toEqual([429, true]);
  expect((await fixtures.book(body)).status).toBe(201);
});

it('the answer comes twice: 201, and no later request gets the second one', async () => {
  const { schedule, slot, patient } = await fixtures.aClinic();
  proxy.choose = once(faults.twice, isBooking);
  expect((await fixtures.book(fixtures.proposed(patient, [slot]))).status).toBe(201);
  const responses = await fixtures.simultaneously(5, () => http.request('portal-a', 'GET', `/Schedule/${schedule.id}`));
  expect(responses.map((response) => http.resourceIn('Schedule', response).id)).toEqual(Array(5).fill(schedule.id));
});

it('the request arrives twice: one booking, which the answer tells of', async () => {
  const { slot, patient } = await fixtures.aClinic();
  proxy.choose = once(faults.doubled, isBooking);
  const response = await fixtures.book(fixtures.proposed(patient, [slot], { identifier: identifier() }));
  expect(response.status).toBe(200);
  expect(await fixtures.appointmentsOn(slot)).toHaveLength(1);
});
