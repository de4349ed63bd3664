import '../../../config.ts';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { postNotification } from '../../../../../bots/lib/notifications/delivery/rest-hook.ts';
import { type Listener, listen } from '../../../../contract/notifications/listener.ts';
import { freePort } from '../../../../lib/free-port.ts';
import { config } from '../../../config.ts';

let endpoint: Listener;

beforeAll(async () => {
  endpoint = await listen();
});
beforeEach(() => {
  endpoint.reply = 200;
  endpoint.received.length = 0;
});
afterAll(() => endpoint.close());

const bundle: Bundle = { resourceType: 'Bundle', type: 'history', id: 'müsli' };
const json = 'application/fhir+json';

/** Posts a notification, by default to the endpoint as JSON; gives what went wrong. */
const post = (changes: { url?: string; mediaType?: string; headers?: string[]; timeout?: number } = {}) => {
  const { url = endpoint.url, mediaType = json, headers, timeout = 5_000 } = changes;
  return postNotification(new URL(url), { mediaType, timeout }, headers, bundle);
};

/** The address of the endpoint with another name or protocol. */
const endpointAs = (changes: { hostname?: string; protocol?: string }) => Object.assign(new URL(endpoint.url), changes);

const late = 'The endpoint did not answer within 0.3 s.';
const broken = 'The endpoint closed the connection before its response was complete.';

describe('a notification', () => {
  it('is posted as JSON', async () => {
    const methods: unknown[] = [];
    endpoint.reply = (response) => {
      methods.push(response.req.method);
      response.end();
    };
    expect(await post()).toBeUndefined();
    expect(methods).toEqual(['POST']);
    const [received] = endpoint.received;
    expect(received?.bundle).toEqual(bundle);
    expect(received?.headers).toMatchObject({ 'content-type': json, connection: 'close' });
  });

  it('is posted as XML if that is wanted', async () => {
    expect(await post({ mediaType: 'application/fhir+xml; charset=utf-8' })).toBeUndefined();
    expect(endpoint.received[0]?.headers['content-type']).toBe('application/fhir+xml; charset=utf-8');
    expect(endpoint.received[0]?.text).toMatch(/^<.*<Bundle/s);
    expect(endpoint.received[0]?.bundle).toEqual(bundle);
  });

  it('has the headers of the Subscription, but for those of the message', async () => {
    await post({
      headers: ['Authorization: Bearer a:b', 'X-A: 1', 'x-a: 2', 'Content-Type: text/plain', 'Host: other'],
    });
    expect(endpoint.received[0]?.headers).toMatchObject({
      authorization: 'Bearer a:b',
      'x-a': '1, 2',
      'content-type': json,
      host: new URL(endpoint.url).host,
    });
  });
});

describe('an answer', () => {
  it.each([200, 201, 204, 299])('with status %i is a success', async (status) => {
    endpoint.reply = status;
    expect(await post()).toBeUndefined();
  });

  it.each([300, 302, 304, 400, 401, 404, 410, 500, 503])('with status %i is a problem', async (status) => {
    endpoint.reply = (response) => response.writeHead(status, { location: endpoint.url }).end();
    expect(await post()).toBe(`The endpoint answered with status ${status}.`);
    expect(endpoint.received).toHaveLength(1);
  });

  it('with a status below all that there are is a problem', async () => {
    endpoint.reply = ({ socket }) => void socket?.end('HTTP/1.1 099 None\r\nContent-Length: 0\r\n\r\n');
    expect(await post()).toBe('The endpoint answered with status 99.');
  });

  const sending = (status: number, length: number, then: (response: ServerResponse) => unknown = () => undefined) => {
    endpoint.reply = (response) => {
      response.writeHead(status).write(Buffer.alloc(length));
      then(response);
    };
  };

  it('is read to its end', async () => {
    sending(200, 10);
    expect(await post({ timeout: 300 })).toBe(late);
  });

  it('is read as far as 64 KiB', async () => {
    sending(200, 64 * 1024);
    expect(await post({ timeout: 300 })).toBe(late);
  });

  it.each([
    [200, undefined],
    [418, 'The endpoint answered with status 418.'],
  ])('with status %i that goes on is read no further', async (status, problem) => {
    const closed = Promise.withResolvers<unknown>();
    sending(status, 60 * 1024, (response) => {
      response.write(Buffer.alloc(5 * 1024));
      closed.resolve(once(response, 'close'));
    });
    expect(await post()).toBe(problem);
    await closed.promise;
  });

  it.each([
    [200, broken],
    [418, 'The endpoint answered with status 418.'],
  ])('with status %i that breaks off is a problem', async (status, problem) => {
    sending(status, 10, (response) => setTimeout(() => response.destroy(), 20));
    expect(await post()).toBe(problem);
  });

  it('must come in time', async () => {
    const closed = Promise.withResolvers<unknown>();
    endpoint.reply = (response) => closed.resolve(once(response, 'close'));
    expect(await post({ timeout: 300 })).toBe(late);
    await closed.promise;
  });

  it('may take some time', async () => {
    endpoint.reply = (response) => setTimeout(() => response.end(), 50);
    expect(await post()).toBeUndefined();
  });

  it('is waited for no longer than it takes', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    await post({ timeout: 60_000 });
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe('an endpoint', () => {
  it('that does not listen is a problem', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    expect(await post({ url })).toBe('The endpoint cannot be reached (ECONNREFUSED).');
  });

  it('that ends the connection without an answer is a problem', async () => {
    endpoint.reply = (response) => response.destroy();
    expect(await post()).toBe('The endpoint cannot be reached (ECONNRESET).');
  });

  it('that does not speak TLS is a problem if its address says so', async () => {
    const { href } = endpointAs({ protocol: 'https:' });
    expect(await post({ url: href.replace('http:', 'https:') })).toMatch(/^The endpoint cannot be reached \(E\w+\)\.$/);
    expect(endpoint.received).toEqual([]);
  });

  it('in another network is sent nothing', async () => {
    expect(await post({ url: 'http://10.0.0.1/' })).toBe(
      '10.0.0.1 is in a network to which no notifications are sent.',
    );
  });

  it.each([true, false])('is reached at the addresses that were checked (all of them at once: %s)', async (isAll) => {
    const usual = getDefaultAutoSelectFamily();
    const networks = config.notifications.allowedNetworks as string[];
    setDefaultAutoSelectFamily(isAll);
    networks.push('::1/128');
    try {
      const { href } = endpointAs({ hostname: 'portal.localhost' });
      expect(await post({ url: href })).toBeUndefined();
      expect(endpoint.received[0]?.headers.host).toBe(new URL(href).host);
    } finally {
      setDefaultAutoSelectFamily(usual);
      networks.pop();
    }
  });
});
