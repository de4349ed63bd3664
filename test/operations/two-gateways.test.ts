/**
 * Two gateways in front of one Medplum, behind nginx that sends each request to the other one than the request before: what a
 * promise rests on holds for both. The sample nginx.conf is kinder: it sends a visitor of the portal to the same gateway each time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { backport } from '../../core/fhir/backport.ts';
import { topicUrl } from '../../core/notifications/subscription/topics.ts';
import { parseCredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { sealSecret } from '../../gateway/sealing/sealed-secret.ts';
import { loadConfig } from '../../scripts/cli/load-config.ts';
import { freePort } from '../lib/free-port.ts';
import { type Installation, prepareService } from '../lib/installation.ts';
import { type Service, serviceOf } from '../lib/service.ts';
import { scaled } from '../lib/time-scale.ts';
import { until } from '../lib/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'booking-two-gateways-'));
let installation: Installation;
const gateways: Service[] = [];
let nginx: ChildProcess;
let origin = '';

const environmentOf = (): Readonly<Record<string, string>> => installation.addresses;

interface Client {
  readonly id: string;
  readonly secret: string;
}

/** The client of the portal in the demo data. */
async function portalClient(): Promise<Client> {
  const url = `${installation.medplumUrl}fhir/R4/ClientApplication?name:exact=Portal%20A`;
  const found = await (await fetch(url, { headers: { authorization: 'Bearer admin' } })).json();
  return found.entry[0].resource;
}

beforeAll(async () => {
  installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' });
  await installation.start();
  const { CREDENTIALS_KEY = '', BOOKING_BASE_URL, BOOKING_CONFIG = '' } = environmentOf();
  const file = join(folder, 'booking.config.json');
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(BOOKING_CONFIG, 'utf8')), baseUrl: BOOKING_BASE_URL }),
  );
  const { id, secret } = await portalClient();
  const ports = [await freePort(), await freePort(), await freePort()] as const;
  for (const port of ports.slice(0, 2)) {
    const gateway = serviceOf(
      'scripts/gateway.ts',
      {
        PORT: String(port),
        HOST: 'localhost',
        MEDPLUM_BASE_URL: installation.medplumUrl,
        BOOKING_CONFIG: file,
        CREDENTIALS_KEY,
        LOG_LEVEL: 'info',
        TRUST_PROXY: '1',
        PORTAL_CLIENT_ID: id,
        PORTAL_CLIENT_SECRET: sealSecret(parseCredentialKeys(CREDENTIALS_KEY), id, secret),
        PORTAL_CLINIC: 'Clinic',
      },
      'listening',
    );
    gateways.push(gateway);
    await gateway.start();
  }
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${folder}/${one};`);
  const servers = ports.slice(0, 2).map((port) => `server localhost:${port};`);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {} http { ${paths.join(' ')}
log_format upstream '$upstream_addr'; access_log ${folder}/access.log upstream;
upstream both { ${servers.join(' ')} }
server { listen 127.0.0.1:${ports[2]}; location / { proxy_pass http://both; proxy_http_version 1.1; proxy_next_upstream off;
proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } } }`,
  );
  nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  origin = `http://127.0.0.1:${ports[2]}`;
  await until(
    () => fetch(`${origin}/fhir/R4/metadata`).catch(() => undefined),
    (response) => response?.status === 200,
  );
}, scaled(90_000));

afterAll(async () => {
  const gone = once(nginx, 'exit');
  nginx.kill();
  await gone;
  await Promise.all([...gateways.map((gateway) => gateway.end()), installation.end()]);
  rmSync(folder, { recursive: true });
});

/** A request to the interface as Portal A. */
async function ask(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${origin}/fhir/R4/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${environmentOf().PORTAL_A_TOKEN}`,
      'content-type': 'application/fhir+json',
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** A browser that keeps its cookies. */
function browser() {
  const cookies = new Map<string, string>();
  return async (path: string, form?: Readonly<Record<string, string>>) => {
    const response = await fetch(`${origin}${path}`, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'sec-fetch-site': 'same-origin',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';')[0]?.split('=', 2) ?? [];
      cookies.set(name, value);
    }
    return { status: response.status, location: response.headers.get('location') ?? '', text: await response.text() };
  };
}

const freeSlots = async () => {
  const { body } = await ask('GET', `Slot?status=free&start=ge${new Date().toISOString()}&_sort=start&_count=50`);
  return body.entry.map(({ resource }: { resource: { id: string; start: string; end: string } }) => resource);
};

/** Free half hours of a calendar of their own. */
async function ownSlots(count: number) {
  const store = async (type: string, resource: object) => {
    const response = await fetch(`${installation.medplumUrl}fhir/R4/${type}`, {
      method: 'POST',
      headers: { authorization: 'Bearer front-desk', 'content-type': 'application/fhir+json' },
      body: JSON.stringify({ resourceType: type, ...resource }),
    });
    return response.json();
  };
  const schedule = await store('Schedule', { active: true, actor: [{ display: 'A room' }] });
  const slots = [];
  for (let index = 0; index < count; index++) {
    const start = Date.parse('2031-01-06T08:00:00Z') + index * 1_800_000;
    const [from, to] = [start, start + 1_800_000].map((time) => new Date(time).toISOString());
    const free = { schedule: { reference: `Schedule/${schedule.id}` }, status: 'free', start: from, end: to };
    slots.push(await store('Slot', free));
  }
  return slots;
}

const values = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );

test('a time that a browser holds, its form, its appointment and its link are known to both', async () => {
  const visit = browser();
  let booked = '';
  let message = '';
  for (const { id } of (await freeSlots()).reverse()) {
    const page = await visit(`/portal/slots/${id}`);
    const [, time] = /name="time" value="([^"]+)"/.exec(page.text) ?? [];
    if (time === undefined) {
      continue;
    }
    const held = await visit('/portal/hold', { ...values(page.text), time: time.replaceAll('&amp;', '&') });
    expect([held.status, held.location]).toEqual([303, expect.stringContaining('/portal/details?b=')]);
    const forms = [await visit(held.location), await visit(held.location)];
    expect(forms.map(({ status }) => status)).toEqual([200, 200]);
    const person = { given: 'Ada', family: 'Muster', birthDate: '1990-05-17', email: 'ada@example.org', for: '' };
    const sent = await visit(held.location, person);
    message = `${sent.status} ${sent.location}`;
    if (sent.location.includes('/portal/appointments/')) {
      booked = sent.location.split('?')[0] ?? '';
      break;
    }
  }
  expect([booked, message]).toEqual([expect.stringContaining('/portal/appointments/'), expect.any(String)]);
  const seen = [await visit(booked), await visit(booked), await visit('/portal/appointments')];
  expect(seen.map(({ status, text }) => [status, text.includes('Ada')])).toEqual([
    [200, true],
    [200, true],
    [200, true],
  ]);
  const stranger = browser();
  expect((await stranger(booked)).text).not.toContain('Ada');
  const [, link = ''] = /<p class="link" dir="ltr">([^<]+)</.exec(seen[0]?.text ?? '') ?? [];
  for (let path = new URL(link).pathname + new URL(link).search; path !== ''; ) {
    const { location } = await stranger(path);
    path = location;
  }
  expect((await stranger(booked)).text).toContain('Ada');
});

test('a hold counts at both, and both book it once', async () => {
  const [slot, other] = await ownSlots(2);
  const patient = (await ask('POST', 'Patient', { resourceType: 'Patient', name: [{ family: 'Muster' }] })).body;
  const wanted = (one: { id: string; start: string; end: string }) => ({
    resourceType: 'Appointment',
    status: 'proposed',
    identifier: [{ system: 'urn:test', value: randomUUID() }],
    slot: [{ reference: `Slot/${one.id}` }],
    start: one.start,
    end: one.end,
    participant: [{ status: 'accepted', actor: { reference: `Patient/${patient.id}` } }],
  });
  const held = await ask('POST', 'Appointment/$hold', wanted(slot));
  expect([held.status, held.body.issue]).toEqual([201, undefined]);
  const [first, second] = [
    await ask('POST', 'Appointment/$book', wanted(slot)),
    await ask('POST', 'Appointment/$book', { ...wanted(slot), id: held.body.id }),
  ];
  expect([first.status, second.status]).toEqual([409, 201]);
  const request = wanted(other);
  const both = await Promise.all([1, 2, 3, 4].map(() => ask('POST', 'Appointment/$book', request)));
  expect(new Set(both.map(({ body }) => body.id)).size).toBe(1);
});

test('a job that one has taken is read at the other', async () => {
  const [slot] = await ownSlots(1);
  const patient = (await ask('POST', 'Patient', { resourceType: 'Patient', name: [{ family: 'Muster' }] })).body;
  const body = {
    resourceType: 'Appointment',
    status: 'proposed',
    slot: [{ reference: `Slot/${slot.id}` }],
    start: slot.start,
    end: slot.end,
    participant: [{ status: 'accepted', actor: { reference: `Patient/${patient.id}` } }],
  };
  const taken = await ask('POST', 'Appointment/$book', body, { prefer: 'respond-async' });
  const path = taken.headers.get('content-location')?.split('/fhir/R4/')[1] ?? '';
  expect([taken.status, path]).toEqual([202, expect.stringContaining('async/')]);
  for (let count = 0; count < 2; count++) {
    expect([200, 202]).toContain((await ask('GET', path)).status);
  }
});

test('a token for websockets that one has given binds at the other', async () => {
  const made = await ask('POST', 'Subscription', {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'test',
    criteria: topicUrl('appointment-update', loadConfig()),
    channel: {
      type: 'websocket',
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
    },
  });
  expect(made.status).toBe(201);
  const given = await ask('GET', `Subscription/${made.body.id}/$get-ws-binding-token`);
  const token = given.body.parameter.find(({ name }: { name: string }) => name === 'token').valueString;
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/fhir/R4/ws`);
  await once(socket, 'open');
  const came = once(socket, 'message');
  socket.send(JSON.stringify({ type: 'bind-with-token', payload: { token } }));
  expect(String((await came)[0])).toContain('handshake');
  socket.terminate();
});

test('both were asked', () => {
  const met = new Set(readFileSync(join(folder, 'access.log'), 'utf8').trim().split('\n'));
  expect([...met].filter((one) => one !== '-')).toHaveLength(2);
});
