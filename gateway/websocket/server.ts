import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import type { BookingConfig } from '../../core/config/config.ts';
import type { GatewayContext } from '../context.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import { closing, relay } from './relay.ts';

const PATH = '/ws';

/** Where clients connect their websockets to. */
export function websocketUrl({ baseUrl }: Pick<BookingConfig, 'baseUrl'>): string {
  return `${baseUrl.replace(/^http/, 'ws')}${PATH}`;
}

/** Whether a request wants to become a websocket of the service; every other offer to upgrade is a request like any. */
export function isWebsocket({ url, headers }: IncomingMessage, { basePath }: Addresses): boolean {
  const [path] = (url ?? '').split('?', 1);
  return headers.upgrade?.toLowerCase() === 'websocket' && path === `${basePath}${PATH}`;
}

/** A client says no more than tokens. */
const clientBytes = 64 * 1024;

/** How often clients are asked whether they are still there, in milliseconds. */
const pingMs = 30_000;

/** How many websockets that are not bound yet one address may have. */
const mostWaiting = 50;

/** How long a client may take to close its end, in milliseconds. */
const graceMs = 1_000;

/** Asks regularly who is still there, and drops who is not. */
function keepAlive(server: WebSocketServer): NodeJS.Timeout {
  const silent = new WeakSet<WebSocket>();
  server.on('connection', (client: WebSocket) => client.on('pong', () => silent.delete(client)));
  return setInterval(() => {
    for (const client of server.clients) {
      if (silent.has(client)) {
        client.terminate();
      } else {
        silent.add(client);
        client.ping();
      }
    }
  }, pingMs).unref();
}

/** The websockets that are not bound yet: anybody can open one, so that no address may have many of them. */
function createWaiting() {
  const addresses = new Map<WebSocket, string>();
  return {
    enter: (client: WebSocket, address: string): boolean => {
      const known = [...addresses.values()].filter((one) => one === address);
      if (known.length >= mostWaiting) {
        return false;
      }
      addresses.set(client, address);
      client.once('close', () => addresses.delete(client));
      return true;
    },
    leave: (client: WebSocket): void => void addresses.delete(client),
  };
}

/** How websockets are served. */
export interface WebsocketOptions {
  /** Medplum's base address. */
  readonly medplumBaseUrl: string;
  /** Whether the client's address is taken from `X-Forwarded-For`. */
  readonly trustProxy?: boolean;
}

/**
 * Adds the websockets of the service: a client binds itself to Subscriptions with tokens of `$get-ws-binding-token`, and
 * is sent the same Bundles that others are posted. Medplum carries them, as messages that it tells on a websocket of its
 * own, and checks the tokens and the rights.
 *
 * @returns number of websockets that are open
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/channels.html
 */
export function addWebsockets(
  app: FastifyInstance,
  context: GatewayContext,
  { medplumBaseUrl, trustProxy = false }: WebsocketOptions,
): () => number {
  const medplumUrl = new URL('ws/subscriptions-r4', medplumBaseUrl.replace(/^http/, 'ws').replace(/\/?$/, '/')).href;
  const server = new WebSocketServer({ noServer: true, maxPayload: clientBytes, perMessageDeflate: false });
  const pings = keepAlive(server);
  const tokens = new Set<string>();
  const waiting = createWaiting();
  let isClosing = false;
  const serve = (client: WebSocket, address: string): void => {
    client.on('error', () => undefined);
    server.emit('connection', client);
    if (isClosing || server.clients.size > context.limits.websockets || !waiting.enter(client, address)) {
      client.close(closing.tryLater, 'Try again in a moment');
      return;
    }
    relay(client, medplumUrl, context, {
      claim: (id) => !tokens.has(id) && tokens.add(id).has(id),
      release: (id) => tokens.delete(id),
      settled: () => waiting.leave(client),
      failed: (error) => app.log.error(error, 'websocket failed'),
    });
  };
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const [forwarded] = String(request.headers['x-forwarded-for'] ?? '').split(',');
    const address = (trustProxy && forwarded?.trim()) || (request.socket.remoteAddress ?? '');
    server.handleUpgrade(request, socket, head, (client) => serve(client, address));
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    clearInterval(pings);
    for (const client of server.clients) {
      client.close(closing.goingAway, 'Connect anew, and ask $events for what was missed');
      setTimeout(() => client.terminate(), graceMs).unref();
    }
  });
  return () => server.clients.size;
}
