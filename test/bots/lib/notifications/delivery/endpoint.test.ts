import '../../../config.ts';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { resolveEndpoint } from '../../../../../bots/lib/notifications/delivery/resolve-endpoint.ts';
import { postNotification } from '../../../../../bots/lib/notifications/delivery/rest-hook.ts';
import { type Listener, listen } from '../../../../contract/notifications/listener.ts';
import { config } from '../../../config.ts';
import { withNameServer } from './name-server.ts';

const server = withNameServer();

/** Resolves the host of an endpoint; gives its addresses, or why there are none. */
const resolve = (url: string, { limit = 5_000, allowed = [] as string[], resolver = server.resolver() } = {}) =>
  resolveEndpoint(new URL(url), limit, allowed, resolver);

const portal = 'https://portal.example/';

const unknown = {
  problem: 'The name portal.example cannot be resolved, or no name server answered in time.',
  isUnknown: true,
};

const [v4, v6] = [
  { address: '8.8.8.8', family: 4 },
  { address: '2001:4860:4860::8888', family: 6 },
];

const records = { A: [[8, 8, 8, 8]], AAAA: [[0x20, 1, 0x48, 0x60, 0x48, 0x60, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88]] };

it('an address must be in a network to which notifications are sent', async () => {
  const problem = '10.1.2.3 is in a network to which no notifications are sent.';
  expect(await resolve('http://10.1.2.3/')).toEqual({ problem, isUnknown: false });
  expect(await resolve('http://10.1.2.3/', { allowed: ['10.0.0.0/8'] })).toEqual({
    addresses: [{ address: '10.1.2.3', family: 4 }],
  });
});

describe('a name', () => {
  const [address = '', name = ''] =
    readFileSync('/etc/hosts', 'utf8')
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
      .find(([one, other]) => one?.startsWith('1') && other && !other.includes('localhost')) ?? [];
  (name ? it : it.skip)('that the machine knows needs no name server', async () => {
    const addresses = expect.arrayContaining([{ address, family: 4 }]);
    expect(await resolve(`http://${name}/`, { allowed: ['0.0.0.0/0', '::/0'] })).toEqual({ addresses });
  });

  it('must have no address to which no notifications are sent', async () => {
    server.answer = (type) => ({ addresses: type === 'A' ? [...records.A, [192, 168, 0, 1]] : [] });
    const problem = 'portal.example is in a network to which no notifications are sent.';
    expect(await resolve(portal)).toEqual({ problem, isUnknown: false });
  });

  it('is asked for no longer than there is time', async () => {
    server.answer = (type) => ({ addresses: records[type], after: 700 });
    expect(await resolve(portal, { limit: 200 })).toEqual(unknown);
    expect(await resolve(portal, { limit: 4_000 })).toEqual({ addresses: [v4, v6] });
  });

  it('of which a name server says nothing is given up and delays nobody', async () => {
    const destinations = await Promise.all(Array.from({ length: 30 }, () => resolve(portal, { limit: 100 })));
    expect(destinations).toEqual(destinations.map(() => unknown));
  });
});

describe('rest hook', () => {
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
  const endpointAs = (changes: { hostname?: string; protocol?: string }) =>
    Object.assign(new URL(endpoint.url), changes);
  const broken = 'The endpoint closed the connection before its response was complete.';

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

    const sending = (status: number, length: number, then: (response: ServerResponse) => unknown = () => undefined) => {
      endpoint.reply = (response) => {
        response.writeHead(status).write(Buffer.alloc(length));
        then(response);
      };
    };

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
  });

  describe('an endpoint', () => {
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
});
