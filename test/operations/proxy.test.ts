import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { freePort } from '../lib/free-port.ts';
import { type Installation, prepareService } from '../lib/installation.ts';
import { scaled } from '../lib/time-scale.ts';
import { until } from '../lib/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'booking-proxy-'));
/** Two gateways that say which one they are, and from whom a request comes. */
const portals = ['first', 'second'].map((name) =>
  createServer(({ headers }, response) =>
    response.setHeader('x-seen', `${headers.host} ${headers['x-forwarded-for']}`).end(name),
  ),
);
const portOf = (server: Server): number => Object.assign({ port: 0 }, server.address()).port;
let installation: Installation;
let nginx: ChildProcess;
let [plain, secure] = [0, 0];
let ca: Buffer;

/** The sample, with the ports and certificates of the test. */
function configuration(gateway: string): string {
  const sample = readFileSync('docs/operations/nginx.conf', 'utf8')
    .replace('server 127.0.0.1:8080;', `server 127.0.0.1:${gateway};`)
    .replace('server 127.0.0.1:8080;', portals.map((server) => `server 127.0.0.1:${portOf(server)};`).join(' '))
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${secure} ssl`)
    .replace('/var/log/nginx/booking.log', join(folder, 'access.log'))
    .replace('/var/log/nginx/booking-error.log', join(folder, 'booking-error.log'))
    .replace('/etc/ssl/booking/fullchain.pem', join(folder, 'certificate.pem'))
    .replace('/etc/ssl/booking/privkey.pem', join(folder, 'key.pem'));
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${folder}/${one};`);
  return `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events {}
http { access_log off; ${paths.join(' ')} ${sample} }`;
}

interface Options {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The address that the request comes from. */
  readonly localAddress?: string;
}

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function ask(
  path: string,
  { method = 'GET', headers = {}, body, ...from }: Options = {},
  isSecure = true,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const options = { host: '127.0.0.1', method, path, ...from, headers: { host: 'booking.example.org', ...headers } };
  const clientRequest = isSecure
    ? httpsRequest({ ...options, port: secure, ca, servername: 'booking.example.org' })
    : httpRequest({ ...options, port: plain });
  clientRequest.once('error', reject);
  clientRequest.once('response', (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    answer.once('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
  });
  clientRequest.end(body);
  return promise;
}

beforeAll(async () => {
  [plain, secure] = [await freePort(), await freePort()];
  for (const server of portals) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  }
  const subject = ['-subj', '/CN=booking.example.org', '-addext', 'subjectAltName=DNS:booking.example.org'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files], {
    stdio: 'ignore',
  });
  ca = readFileSync(join(folder, 'certificate.pem'));
  installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' });
  await installation.start();
  const { port } = new URL(installation.addresses.BOOKING_BASE_URL ?? '');
  writeFileSync(join(folder, 'nginx.conf'), configuration(port));
  nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  await until(
    () => ask('/fhir/R4/metadata').catch(() => undefined),
    (answer) => answer?.status === 200,
  );
}, scaled(60_000));

afterAll(async () => {
  const gone = once(nginx, 'exit');
  nginx.kill();
  await gone;
  await installation.end();
  for (const server of portals) {
    server.close();
  }
  rmSync(folder, { recursive: true });
});

const bearer = () => ({ authorization: `Bearer ${installation.addresses.PORTAL_A_TOKEN}` });

test('without TLS everything leads to TLS', async () => {
  const { status, headers } = await ask('/fhir/R4/metadata', {}, false);
  expect([status, headers.location]).toEqual([308, 'https://booking.example.org/fhir/R4/metadata']);
});

test('what portals need passes: search, a patient, the discovery of tokens', async () => {
  expect(await ask('/fhir/R4/Slot?status=free&_count=1', { headers: bearer() })).toMatchObject({ status: 200 });
  const headers = { ...bearer(), 'content-type': 'application/fhir+json' };
  const body = JSON.stringify({ resourceType: 'Patient', name: [{ family: 'Muster' }] });
  expect(await ask('/fhir/R4/Patient', { method: 'POST', headers, body })).toMatchObject({ status: 201 });
  expect(await ask('/.well-known/smart-configuration')).toMatchObject({ status: 200 });
  expect(await ask('/oauth2/token', { method: 'POST' })).not.toMatchObject({ status: 404 });
  expect(await ask('/mcp', { method: 'POST', headers, body: '{}' })).not.toMatchObject({ status: 404 });
  expect(await ask('/front-desk/')).toMatchObject({ status: 200 });
});

test('the log has no queries, which hold links and names of patients, and no secret of a calendar', async () => {
  await ask('/portal/link?t=secret');
  expect(await ask('/portal/calendar/secret.ics')).toMatchObject({ status: 200 });
  await ask('/portal/message/secret.secret');
  await ask('/fhir/R4/Patient?family=secret', { headers: { ...bearer(), referer: 'https://x.example/?t=secret' } });
  const logged = await until(
    () => readFileSync(join(folder, 'access.log'), 'utf8'),
    (text) => text.includes('/fhir/R4/Patient"'),
  );
  expect(logged).toContain('"GET /portal/link" 200');
  expect(logged).not.toContain('secret');
});

test.each(['/', '/healthz', '/readyz', '/metrics', '/fhir/R5/metadata', '/admin'])('%s does not pass', async (path) => {
  expect(await ask(path)).toMatchObject({ status: 404 });
});

test('a body that is too large is answered with an OperationOutcome', async () => {
  const headers = { ...bearer(), 'content-type': 'application/fhir+json' };
  const body = JSON.stringify({ resourceType: 'Patient', name: [{ family: 'x'.repeat(1024 * 1024) }] });
  const answer = await ask('/fhir/R4/Patient', { method: 'POST', headers, body });
  expect([answer.status, JSON.parse(answer.text).resourceType]).toEqual([413, 'OperationOutcome']);
});

test('a websocket is upgraded, and the gateway answers on it', async () => {
  const host = 'booking.example.org';
  const socket = new WebSocket(`wss://127.0.0.1:${secure}/fhir/R4/ws`, [], {
    agent: new Agent({ ca, servername: host }),
    headers: { host },
  });
  await once(socket, 'open');
  const closed = once(socket, 'close');
  socket.send('no message');
  const [code] = await closed;
  expect(code).toBeGreaterThanOrEqual(1000);
});

test('one address meets one gateway of the portal, others meet others', async () => {
  const addresses = Array.from({ length: 16 }, (_, index) => `127.0.0.${index + 2}`);
  const met = await Promise.all(
    addresses.map(async (localAddress) => {
      const answers = await Promise.all([1, 2, 3].map(() => ask('/portal/times', { localAddress })));
      return new Set(answers.map(({ text }) => text));
    }),
  );
  expect(met.map(({ size }) => size)).toEqual(addresses.map(() => 1));
  expect([...new Set(met.flatMap((one) => [...one]))].sort()).toEqual(['first', 'second']);
});

test('the gateway learns the address of a client from the proxy alone, whatever the client says', async () => {
  const forged = { host: 'evil.example', 'x-forwarded-for': '192.0.2.1, 192.0.2.2', forwarded: 'for=192.0.2.3' };
  const { headers } = await ask('/portal/times', { headers: forged, localAddress: '127.0.0.9' });
  expect(headers['x-seen']).toBe('evil.example 127.0.0.9');
  const discovery = await ask('/.well-known/smart-configuration', {
    headers: { ...forged, 'x-forwarded-host': 'evil.example' },
  });
  expect(discovery.text).not.toContain('evil');
  const long = await ask('/fhir/R4/metadata', { headers: { 'x-long': 'x'.repeat(40_000) } });
  expect(long.status).toBe(400);
});

test('while no gateway runs, that is answered as an OperationOutcome', async () => {
  await installation.kill();
  const answer = await ask('/fhir/R4/metadata');
  expect([answer.status, answer.headers['content-type'], JSON.parse(answer.text).issue[0].code]).toEqual([
    503,
    'application/fhir+json',
    'transient',
  ]);
});

test('while no gateway runs, patients read that in words', async () => {
  for (const server of portals) {
    server.close();
    server.closeAllConnections();
  }
  const answer = await ask('/portal/appointments');
  expect([answer.status, answer.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
  expect(answer.text).toMatch(/lang="de".*lang="en"/);
});

test('while no gateway runs, the logs have no links, names and secrets of calendars either', async () => {
  const secret = ['/portal/calendar/unseen.ics', '/portal/message/unseen.unseen', '/portal/link?t=unseen'];
  for (const path of [...secret, '/fhir/R4/Patient?family=unseen']) {
    expect(await ask(path)).toMatchObject({ status: 503 });
  }
  const logged = ['access.log', 'error.log', 'booking-error.log']
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  expect(logged).toContain('/portal/appointments');
  expect(logged).not.toContain('unseen');
});
