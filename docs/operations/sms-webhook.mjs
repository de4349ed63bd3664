// Takes the SMS of the service and hands them to a provider, here seven.io: node sms-webhook.mjs, behind TLS.
// SMS_SECRET is the secret `smsSecret` of the Medplum project, SEVEN_API_KEY that of the provider.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const {
  SMS_SECRET: secret,
  SEVEN_API_KEY: key,
  SMS_URL: url = 'https://gateway.seven.io/api/sms',
  PORT = 3010,
} = process.env;
if (!secret || !key) {
  throw new Error('Set SMS_SECRET and SEVEN_API_KEY.');
}

/** Ids of what was handed over: a second attempt of the service has the same. Keep them elsewhere to survive a restart. */
const done = new Set();

/** Whether a request comes from the service, and was sent in the last five minutes. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given = '' } = headers;
  const expected = Buffer.from(`v1,${createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64')}`);
  const signature = Buffer.from(given);
  const isFresh = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  return isFresh && signature.length === expected.length && timingSafeEqual(signature, expected);
}

async function answer(request) {
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > 10_000) {
      return 413;
    }
  }
  if (!isGenuine(request.headers, body)) {
    return 401;
  }
  const id = request.headers['webhook-id'];
  if (done.has(id)) {
    return 200;
  }
  const { to, text } = JSON.parse(body).data;
  const form = new URLSearchParams({ to, text });
  const sent = await fetch(url, {
    method: 'POST',
    headers: { 'X-Api-Key': key },
    body: form,
    signal: AbortSignal.timeout(3_500),
  });
  if (sent.ok) {
    done.add(id);
  }
  return sent.ok ? 200 : 502;
}

createServer(async (request, response) => {
  response.writeHead(await answer(request).catch(() => 502)).end();
}).listen(Number(PORT), '127.0.0.1');
