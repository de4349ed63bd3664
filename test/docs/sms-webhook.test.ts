/** The example of docs/operations for SMS, as it stands there: signed requests reach the provider once, others do not. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../lib/free-port.ts';

const received: string[] = [];
let status = 200;
let program: ChildProcess;
let address = '';

/** The provider. */
const provider = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  received.push(`${request.headers['x-api-key']} ${Buffer.concat(chunks)}`);
  response.writeHead(status).end();
});

beforeAll(async () => {
  const [port, providerPort] = [await freePort(), await freePort()];
  await new Promise<void>((resolve) => provider.listen(providerPort, resolve));
  address = `http://127.0.0.1:${port}/`;
  const SMS_URL = `http://127.0.0.1:${providerPort}/`;
  const env = { ...process.env, SMS_SECRET: 'secret', SEVEN_API_KEY: 'key', SMS_URL, PORT: String(port) };
  program = spawn(process.execPath, ['docs/operations/sms-webhook.mjs'], { env, stdio: 'inherit' });
  const isThere = () =>
    fetch(address, { signal: AbortSignal.timeout(1_000) }).then(
      () => true,
      () => false,
    );
  while (program.exitCode === null && !(await isThere())) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
afterAll(async () => {
  program.kill();
  provider.closeAllConnections();
  provider.close();
});

const body = JSON.stringify({ type: 'sms', data: { to: '+49301234567', text: 'Ihr Termin: 9:00' } });

/** Sends as the Bot does. */
async function send(id: string, { secret = 'secret', age = 0, sent = body } = {}): Promise<number> {
  const time = String(Math.floor(Date.now() / 1000) - age);
  const signature = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
  return (await fetch(address, { method: 'POST', headers, body: sent, signal: AbortSignal.timeout(10_000) })).status;
}

test('a message reaches the provider once, however often it is sent; if that fails, it can be sent again', async () => {
  status = 500;
  expect(await send('1')).toBe(502);
  status = 200;
  expect([await send('1'), await send('1')]).toEqual([200, 200]);
  const message = 'key to=%2B49301234567&text=Ihr+Termin%3A+9%3A00';
  expect(received).toEqual([message, message]);
});

test.each<[string, Parameters<typeof send>[1], number]>([
  ['with another secret', { secret: 'other' }, 401],
  ['of long ago', { age: 400 }, 401],
  ['that was changed', { sent: body.replace('9:00', '8:00') }, 401],
  ['that is too long', { sent: 'x'.repeat(20_000) }, 413],
])('a message %s goes nowhere', async (_, given, expected) => {
  const before = received.length;
  expect(await send('2', given)).toBe(expected);
  expect(received).toHaveLength(before);
});
