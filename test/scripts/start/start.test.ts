import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Running, start } from '../../../scripts/start.ts';
import { freePort } from '../../lib/free-port.ts';
import { config } from '../installation.ts';

const lines: string[] = [];
let running: Running;

beforeAll(async () => {
  const ports = { gateway: await freePort(), medplum: await freePort() };
  running = await start({ config, ports, unsealed: 'accepted', log: (line) => lines.push(...line.split('\n')) });
});

afterAll(async () => {
  await running?.stop();
});

test('addresses and credentials are printed', () => {
  const text = lines.join('\n');
  expect(text).toContain(running.baseUrl);
  expect(text).toContain(running.sandbox.baseUrl);
  for (const { name, id, secret } of Object.values(running.demo.clients)) {
    expect(text).toMatch(new RegExp(`${name} +${id} +${secret}`));
  }
});

test('the fixed tokens work as they stand, each for whom it stands', async () => {
  const [printed = ''] = lines.filter((line) => line.startsWith('Bearer tokens'));
  expect(printed.match(/portal-[ab]|front-desk|admin/g)).toEqual(['portal-a', 'portal-b', 'front-desk', 'admin']);
  const answers = ['portal-a', 'portal-b', 'front-desk', 'portal-c'].map(async (token) => {
    const headers = { authorization: `Bearer ${token}` };
    const patient = running.demo.patients['Portal A'];
    return (await fetch(`${running.baseUrl}/${patient}`, { headers })).status;
  });
  expect(await Promise.all(answers)).toEqual([200, 404, 200, 401]);
});

/** What the gateway answers to the first portal that wants a token. */
async function tokenAnswer(): Promise<string> {
  const { id, secret } = running.demo.clients['Portal A'];
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const url = new URL('/oauth2/token', running.baseUrl);
  return (await fetch(url, { method: 'POST', body: new URLSearchParams(form) })).text();
}

test('what is left of a long slot stays free', async () => {
  const authorization = `Bearer ${JSON.parse(await tokenAnswer()).access_token}`;
  const headers = { authorization, 'content-type': 'application/fhir+json' };
  const ct = running.demo.schedules.find(({ service }) => service === 'CT')?.reference;
  const free = async () => {
    const response = await fetch(`${running.baseUrl}/Slot?schedule=${ct}&status=free&_sort=start&_count=1`, {
      headers,
    });
    return JSON.parse(await response.text()).entry[0].resource;
  };
  const long = await free();
  expect(Date.parse(long.end) - Date.parse(long.start)).toBe(4 * 3_600_000);
  const end = new Date(Date.parse(long.start) + 30 * 60_000).toISOString();
  const body = JSON.stringify({
    resourceType: 'Appointment',
    status: 'proposed',
    start: long.start,
    end,
    slot: [{ reference: `Slot/${long.id}` }],
    participant: [{ actor: { reference: running.demo.patients['Portal A'] }, status: 'accepted' }],
  });
  const booked = await fetch(`${running.baseUrl}/Appointment/$book`, { method: 'POST', headers, body });
  expect([booked.status, await booked.text()]).toEqual([201, expect.any(String)]);
  const left = await free();
  expect([Date.parse(left.start), Date.parse(left.end)]).toEqual([Date.parse(end), Date.parse(long.end)]);
});

test('what the gateway says about tokens, and the tokens themselves, name no address of Medplum', async () => {
  const { origin } = new URL(running.baseUrl);
  const answer = await tokenAnswer();
  const claims = Buffer.from(JSON.parse(answer).access_token.split('.')[1], 'base64url').toString();
  expect(JSON.parse(claims).iss).toBe(`${origin}/`);
  const { issuer } = JSON.parse(await (await fetch(`${origin}/.well-known/openid-configuration`)).text());
  expect(issuer).toBe(`${origin}/`);
  expect(answer + claims).not.toContain(new URL(running.sandbox.baseUrl).host);
});

test('a port that is taken is an error, and leaves nothing running', async () => {
  const medplum = await freePort();
  const taken = Number(new URL(running.baseUrl).port);
  await expect(start({ config, ports: { gateway: taken, medplum }, log: () => undefined })).rejects.toThrow(
    'EADDRINUSE',
  );
  await expect(fetch(`http://localhost:${medplum}/healthcheck`)).rejects.toThrow('fetch failed');
});
