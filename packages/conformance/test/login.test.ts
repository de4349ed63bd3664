import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { logIn } from '../login.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
  }
});

/** A server, and what it was sent. */
async function serve(
  answer: (request: IncomingMessage, body: string) => readonly [status: number, headers: object, body?: object],
) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) {
      body += chunk;
    }
    asked.push(`${request.headers.authorization ?? ''} ${body}`);
    const [status, headers, sent] = answer(request, body);
    response.writeHead(status, { ...headers }).end(sent && JSON.stringify(sent));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${Object(server.address()).port}`, asked };
}

const credentials = { clientId: 'portal', clientSecret: 'secret' };

test('a secret follows no redirect, and the refusal says where it led', async () => {
  const other = await serve(() => [200, {}, { access_token: 'stolen' }]);
  const { url } = await serve(() => [307, { location: `${other.url}/token` }]);
  const login = logIn({ ...credentials, baseUrl: url, tokenUrl: `${url}/token` });
  await expect(login).rejects.toThrow(`issued no token to portal: 307 ${other.url}/token`);
  expect(other.asked).toEqual([]);
});

test('credentials go by Basic where the server takes them by nothing else, and a token is renewed before it ends', async () => {
  let issued = 0;
  const { url, asked } = await serve(({ url: path, headers }) => {
    if (path !== '/token') {
      return [200, {}];
    }
    const isBasic = headers.authorization === `Basic ${btoa('portal:secret')}`;
    issued += isBasic ? 1 : 0;
    return isBasic ? [200, {}, { access_token: `token-${issued}`, expires_in: issued === 1 ? -1 : 3_600 }] : [401, {}];
  });
  const client = await logIn({ ...credentials, baseUrl: url, tokenUrl: `${url}/token` });
  await client.send({ method: 'GET', path: '/Slot' });
  await client.send({ method: 'GET', path: '/Slot' });
  expect(asked.filter((one) => one.startsWith('Bearer'))).toEqual(['Bearer token-2 ', 'Bearer token-2 ']);
});

test('what was created is known by its Location where nothing else is answered', async () => {
  const { url } = await serve(() => [201, { location: '/fhir/Patient/a.1/_history/1' }]);
  const client = await logIn({ baseUrl: url, token: 'good' });
  const { resource } = await client.send({ method: 'POST', path: '/Patient', body: {} });
  expect(resource).toEqual({ resourceType: 'Patient', id: 'a.1' });
});

test('who does not answer is named, with the reason', async () => {
  const login = logIn({ ...credentials, baseUrl: 'http://127.0.0.1:1/fhir' });
  await expect(login).rejects.toThrow(
    /^GET http:\/\/127\.0\.0\.1:1\/fhir\/\.well-known\/smart-configuration: no answer \(.+\)\.$/,
  );
});
