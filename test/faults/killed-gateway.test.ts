import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { beforeAll, expect, it } from '@jest/globals';
import { loadConfig } from '../../scripts/cli/load-config.ts';
import { sealedTokens } from '../../scripts/demo/sealed-tokens.ts';
import { freePort } from '../lib/free-port.ts';
import type { Service } from '../lib/service.ts';
import { eventually } from '../lib/until.ts';
import { gatewayClient } from './gateway-client.ts';
import { prepareInstallation, serviceOf } from './installation.ts';
import { type FaultyProxy, isTransaction, type Passing, startProxy } from './proxy.ts';

let gateway: Service;
let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let consistent: typeof import('../contract/races/consistent.ts');
let port = 0;

beforeAll(async () => {
  proxy = await startProxy();
  const installation = await prepareInstallation();
  proxy.target = installation.medplumUrl;
  port = await freePort();
  // The gateway names itself as its configuration says, wherever it listens.
  const tokens = await sealedTokens(loadConfig().baseUrl, process.env.CREDENTIALS_KEY ?? '');
  Object.assign(process.env, { BOOKING_BASE_URL: `http://localhost:${port}/fhir/R4`, ...tokens });
  [fixtures, http, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
  const client = await gatewayClient(http);
  const own: Record<string, string> = client ? { BOTS_CLIENT_ID: client.id, BOTS_CLIENT_SECRET: client.secret } : {};
  gateway = serviceOf(
    'scripts/gateway.ts',
    { PORT: String(port), HOST: 'localhost', MEDPLUM_BASE_URL: proxy.url, LOG_LEVEL: 'info', ...own },
    'listening',
  );
  await gateway.start();
});

/** What the gateway sends to book: the call of a Bot, or where it runs the Bots itself their transaction. */
const isBooking = (passing: Passing): boolean => passing.path.includes('execute') || isTransaction(passing);

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

it.each([1, 4, 12])('killed when %i bookings have reached Medplum: the retries tell the truth', async (nth) => {
  const [schedule, patient] = await Promise.all([fixtures.aSchedule(), fixtures.aPatient()]);
  const slots = await fixtures.simultaneously(16, (index) => fixtures.aSlot(schedule, index * 10, index * 10 + 10));
  const bodies = slots.map((slot, index) =>
    fixtures.proposed(patient, [slot], { from: index * 10, to: index * 10 + 10, identifier: identifier() }),
  );
  let arrived = 0;
  let killed: Promise<void> | undefined;
  proxy.choose = (passing) => {
    arrived += isBooking(passing) ? 1 : 0;
    killed ??= arrived === nth ? gateway.kill() : undefined;
    return undefined;
  };
  const answers = await Promise.all(bodies.map((body) => fixtures.book(body).catch(() => undefined)));
  await killed;
  expect(answers.some((response) => response === undefined)).toBe(true);
  proxy.choose = () => undefined;
  await gateway.start();
  const retried = await Promise.all(bodies.map((body) => fixtures.book(body)));
  retried.forEach((response, index) => {
    expect(answers[index]?.status === 201 ? [200] : [200, 201]).toContain(response.status);
  });
  for (const slot of slots) {
    expect(await fixtures.appointmentsOn(slot)).toHaveLength(1);
  }
  expect(await consistent.inconsistencies(schedule)).toEqual([]);
});

/** Sends a request and goes away as soon as something has happened, without waiting for the answer. */
async function sendAndLeave(body: unknown, when: Promise<void>): Promise<void> {
  const text = JSON.stringify(body);
  const socket = connect(port, 'localhost');
  socket.on('error', () => undefined);
  socket.write(
    `POST /fhir/R4/Appointment/$book HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${process.env.PORTAL_A_TOKEN}\r\n` +
      `Content-Type: application/fhir+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  await when;
  socket.destroy();
}

it.each(['when its booking reaches Medplum', 'when Medplum has booked'] as const)(
  'the client goes away %s: it is booked once, and the retry tells so',
  async (moment) => {
    const { schedule, slot, patient } = await fixtures.aClinic();
    const body = fixtures.proposed(patient, [slot], { identifier: identifier() });
    const left = Promise.withResolvers<void>();
    proxy.choose = (passing) =>
      isBooking(passing)
        ? async (forward, socket) => {
            const answer = forward();
            await (moment === 'when Medplum has booked' ? answer : undefined);
            left.resolve();
            await answer;
            socket.destroy();
          }
        : undefined;
    await sendAndLeave(body, left.promise);
    proxy.choose = () => undefined;
    await eventually(() => fixtures.appointmentsOn(slot)).is((found) => found.length === 1);
    expect((await fixtures.book(body)).status).toBe(200);
    expect(http.resourceIn('Appointment', await fixtures.book(body)).status).toBe('booked');
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  },
);
