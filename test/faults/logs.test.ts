import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { beforeAll, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import type { Installation } from '../lib/installation.ts';
import { prepareInstallation } from './installation.ts';

/** Texts of a patient, of the clinic and of clients, which no log may have. */
const secret = {
  family: 'Geheimhuber',
  birthDate: '1971-03-29',
  phone: '+4915112340987',
  email: 'eva.geheim@example.org',
  answer: 'Verschwiegen',
  comment: 'Vertraulich',
  wrong: `wrong-${randomUUID()}`,
};

let installation: Installation;
let http: typeof import('../contract/http.ts');
let fixtures: typeof import('../contract/fixtures.ts');

beforeAll(async () => {
  installation = await prepareInstallation({ LOG_LEVEL: 'trace' }, { bots: 'gateway' });
  [http, fixtures] = await Promise.all([import('../contract/http.ts'), import('../contract/fixtures.ts')]);
  await installation.start();
});

const base = () => installation.addresses.BOOKING_BASE_URL ?? '';

/** Sends something that the service may refuse in any way. */
const send = async (path: string, init: RequestInit = {}): Promise<string> =>
  (await fetch(new URL(path, base()), { redirect: 'manual', ...init })).text();

async function bookAndFail(): Promise<void> {
  const telecom = [
    { system: 'phone' as const, value: secret.phone },
    { system: 'email' as const, value: secret.email },
  ];
  const person = { name: [{ family: secret.family }], birthDate: secret.birthDate, telecom };
  const patient = await fixtures.aPatient('portal-a', person);
  const { slot } = await fixtures.aClinic();
  const told = [{ linkId: '1', text: 'Why?', answer: [{ valueString: secret.answer }] }];
  const asked = fixtures.proposed(patient, [slot], { comment: secret.comment });
  const body = fixtures.parameters(asked, ['patientSubmittedInformation', { ...fixtures.answers, item: told }]);
  expect([(await fixtures.book(body)).status, (await fixtures.book(body)).status]).toEqual([201, 409]);
  const failures: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ['GET', `/Patient?family=${secret.family}&birthdate=${secret.birthDate}&nonsense=${secret.email}`],
    [
      'POST',
      '/Appointment/$book',
      { resourceType: 'Parameters', parameter: [{ name: secret.family, resource: person }] },
    ],
    ['POST', '/Patient', { resourceType: 'Patient', ...person, birthDate: secret.comment, telecom: [secret.phone] }],
    ['PATCH', '/Appointment/none', [{ op: 'add', path: `/${secret.family}`, value: secret.answer }]],
    [
      'POST',
      '/Appointment/$answer',
      { resourceType: 'Parameters', parameter: [{ name: 'token', valueString: secret.wrong }] },
    ],
    [
      'POST',
      '/Subscription',
      { resourceType: 'Subscription', channel: { header: [`Authorization: ${secret.wrong}`] } },
    ],
  ];
  for (const [method, path, content] of failures) {
    expect((await http.request('portal-a', method, path, { body: content })).status).toBeGreaterThanOrEqual(400);
  }
}

async function signInAndFail(): Promise<void> {
  const authorization = `Bearer ${secret.wrong}`;
  await send('/fhir/R4/Slot', { headers: { authorization } });
  const form = { grant_type: 'client_credentials', client_id: 'x', client_secret: secret.wrong };
  await send('/oauth2/token', { method: 'POST', body: new URLSearchParams(form) });
  await send('/oauth2/token', {
    method: 'POST',
    body: new URLSearchParams({ ...form, client_secret: `sealed.x.${secret.wrong}` }),
  });
  await send(`/portal/link?t=${secret.wrong}`, { headers: { cookie: `session=${secret.wrong}` } });
  await send('/fhir/R4/Patient', { method: 'POST', headers: { authorization }, body: `{"family":"${secret.family}"` });
  await send('/mcp', { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: '{}' });
  const { hostname, port } = new URL(base());
  const broken = connect(Number(port), hostname).on('error', () => undefined);
  broken.write(`GET /${secret.family} HTTP/1.1\r\nAuthorization: ${secret.wrong}\r\nno header\r\n\r\n`);
  const socket = new WebSocket(`${base().replace('http', 'ws')}/ws?token=${secret.wrong}`);
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(`bind-with-token ${secret.wrong}`);
  await new Promise((resolve) => socket.once('message', resolve));
  socket.terminate();
  broken.destroy();
}

it('bookings, sign-ins, failures and websockets leave no name, address, answer, secret or token in the logs', async () => {
  await bookAndFail();
  await signInAndFail();
  await send(`/fhir/R4/metadata?_format=${secret.family}`);
  const words = [
    ...Object.values(secret),
    ...['PORTAL_A_TOKEN', 'PORTAL_A_MEDPLUM_TOKEN'].map((name) => installation.addresses[name] ?? name),
  ];
  expect(words.filter((word) => installation.printed().includes(word))).toEqual([]);
  expect(installation.printed()).toContain('"method":"POST","route":"/oauth2/token","status":400');
  const audits = await http.medplum('admin', 'GET', '/AuditEvent?_count=1000');
  expect(words.filter((word) => audits.text.includes(word))).toEqual([]);
});
