import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../lib/free-port.ts';
import { serviceOf } from '../../lib/service.ts';
import { scaled } from '../../lib/time-scale.ts';

const folder = mkdtempSync(join(tmpdir(), 'start-up-'));
writeFileSync(join(folder, 'broken.json'), '{ "baseUrl": ');
writeFileSync(join(folder, 'wrong.json'), '{ "baseUrl": "nowhere", "colour": "blue" }');
let occupant: Server;
let taken: number;

beforeAll(async () => {
  taken = await freePort();
  occupant = createServer().listen(taken);
});

afterAll(() => {
  occupant.close();
  rmSync(folder, { recursive: true });
});

/** Runs a program of the project to its end. */
function run(script: string, environment: Readonly<Record<string, string>>) {
  const { promise, resolve } = Promise.withResolvers<{ readonly code: unknown; readonly stderr: string }>();
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, MEDPLUM_BASE_URL: 'http://localhost:1/', ...environment };
  execFile(process.execPath, script.split(' '), { env, timeout: scaled(20_000) }, (error, _, stderr) =>
    resolve({ code: error ? error.code : 0, stderr }),
  );
  return promise;
}

/** A key that credentials are sealed with. */
const CREDENTIALS_KEY = Buffer.alloc(32).toString('base64');

const noStackTrace = /^\s+at /m;

const configured = (name: string) => ({ BOOKING_CONFIG: join(folder, name) });
const cases: [string, Record<string, string>, RegExp][] = [
  ['that the configuration is missing', configured('none.json'), /none\.json cannot be read.*BOOKING_CONFIG/],
  ['that the configuration is not JSON', configured('broken.json'), /broken\.json is not JSON/],
  [
    'which fields of the configuration are wrong',
    configured('wrong.json'),
    /wrong\.json:.*colour.*baseUrl.*docs\/configuration\.md/s,
  ],
  ['that a port is none', { PORT: 'eighty' }, /PORT must be a port, 1 to 65535, not eighty/],
];

describe.each(['scripts/gateway.ts', 'scripts/booking.ts start'])('%s says in a sentence', (script) => {
  test.each(cases)('%s', async (_, environment, expected) => {
    const { code, stderr } = await run(script, environment);
    expect([code, stderr]).toEqual([1, expect.stringMatching(expected)]);
    expect(stderr).not.toMatch(noStackTrace);
  });
});

test.each([
  ['front-desk --origin localhost:8080', {}, /--origin must be an address such as/],
  ['doctor --bookings-per-minute many', {}, /bookings-per-minute.*whole number/],
  ['doctor', { BOOKING_CONFIG: '' }, /--client-id/],
])('%s says what is wrong', async (command, environment: Record<string, string>, expected) => {
  const { code, stderr } = await run(`scripts/booking.ts ${command}`, environment);
  expect([code, stderr]).toEqual([1, expect.stringMatching(expected)]);
});

test('the gateway says that its port is in use, and how to choose another', async () => {
  const { code, stderr } = await run('scripts/gateway.ts', {
    PORT: String(taken),
    HOST: 'localhost',
    LOG_LEVEL: 'fatal',
    CREDENTIALS_KEY,
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`Port ${taken} is in use.`);
  expect(stderr).toContain('PORT for the gateway');
  expect(stderr).not.toMatch(noStackTrace);
});

test('npm start says that the port of the embedded Medplum is in use', async () => {
  const ports = { PORT: String(await freePort()), MEDPLUM_PORT: String(taken) };
  const { code, stderr } = await run('scripts/booking.ts start', ports);
  expect(code).toBe(1);
  expect(stderr).toContain(`Port ${taken} is in use.`);
  expect(stderr).not.toMatch(noStackTrace);
});

test('the gateway asks for the address of Medplum', async () => {
  for (const address of ['', 'medplum.example.org']) {
    const { code, stderr } = await run('scripts/gateway.ts', { MEDPLUM_BASE_URL: address });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Set MEDPLUM_BASE_URL to the address of the Medplum server/);
    expect(stderr).not.toMatch(noStackTrace);
  }
});

test('the gateway asks for the key of credentials, and says how to make one and how to do without', async () => {
  const { code, stderr } = await run('scripts/gateway.ts', { LOG_LEVEL: 'fatal' });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^Set CREDENTIALS_KEY .*openssl rand -base64 32.*=medplum/s),
  ]);
  expect(stderr).not.toMatch(noStackTrace);
});

test('a gateway whose Medplum does not answer starts, and says what to check', async () => {
  const environment = {
    MEDPLUM_BASE_URL: 'http://localhost:1/',
    PORT: String(await freePort()),
    HOST: 'localhost',
    CREDENTIALS_KEY,
  };
  const service = serviceOf('scripts/gateway.ts', environment, 'check MEDPLUM_BASE_URL and that the server runs');
  await service.start();
  await service.end();
});
