import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import type { BookingConfig } from '../config/config.ts';
import type { Addresses } from './addresses.ts';
import type { GatewayContext } from './context.ts';
import { closing, relay } from './websocket-relay.ts';

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

/**
 * Adds the websockets of the service: a client binds itself to Subscriptions with tokens of `$get-ws-binding-token`, and
 * is sent the same Bundles that others are posted. Medplum carries them, as messages that it tells on a websocket of its
 * own, and checks the tokens and the rights.
 *
 * @param medplumBaseUrl - Medplum's base address
 * @returns number of websockets that are open
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/channels.html
 */
export function addWebsockets(app: FastifyInstance, context: GatewayContext, medplumBaseUrl: string): () => number {
  const medplumUrl = new URL('ws/subscriptions-r4', medplumBaseUrl.replace(/^http/, 'ws').replace(/\/?$/, '/')).href;
  const server = new WebSocketServer({ noServer: true, maxPayload: clientBytes, perMessageDeflate: false });
  const pings = keepAlive(server);
  let isClosing = false;
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    server.handleUpgrade(request, socket, head, (client) => {
      server.emit('connection', client, request);
      if (isClosing || server.clients.size > context.limits.websockets) {
        client.close(closing.tryLater, 'Try again in a moment');
      } else {
        relay(client, medplumUrl, context);
      }
    });
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
