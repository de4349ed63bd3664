import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import type { BookingConfig } from '../../core/config/config.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { addressNetwork } from '../../packages/web/address-group.ts';
import type { Admission } from '../admission/admission.ts';
import { clientAddress, type TrustProxy } from '../admission/client-address.ts';
import type { GatewayContext } from '../context.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import { describe, refuseConnection } from '../operations/error-handler.ts';
import { hostProblem } from '../operations/protocol.ts';
import type { Binding } from './binding-token.ts';
import { createWebsocketPermits } from './permits.ts';
import { end, relay } from './relay.ts';
import { closing } from './session.ts';

const PATH = '/ws';

/** The address to which clients connect their websockets. */
export function websocketUrl({ baseUrl }: Pick<BookingConfig, 'baseUrl'>): string {
  return `${baseUrl.replace(/^http/, 'ws')}${PATH}`;
}

/**
 * Whether a request wants to become a websocket of the service; any other offer to upgrade is treated as an ordinary
 * request.
 */
export function isWebsocket({ url, headers }: IncomingMessage, { basePath }: Addresses): boolean {
  const [path] = (url ?? '').split('?', 1);
  return headers.upgrade?.toLowerCase() === 'websocket' && path === `${basePath}${PATH}`;
}

/** The maximum size of a client's message: it only contains a token. */
const clientBytes = 64 * 1024;

/** Pings all clients regularly, and drops those that do not answer. */
function keepAlive(server: WebSocketServer, everyMs: number): NodeJS.Timeout {
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
  }, everyMs).unref();
}

/** How websockets are served. */
interface WebsocketOptions {
  /** Medplum's base address. */
  readonly medplumBaseUrl: string;
  /** Which proxies are trusted to name the address of a client. */
  readonly trustProxy: TrustProxy;
}

/** The number of websockets. */
export interface WebsocketCounts {
  readonly bound: () => number;
  readonly unbound: () => number;
}

/** Makes the function that serves a websocket, and the permits of all websockets. A token binds one of them at a time. */
function createRelays(context: GatewayContext, medplumUrl: string, failed: (error: unknown) => void) {
  const permits = createWebsocketPermits<WebSocket>(context.limits);
  const tokens = new Set<string>();
  const claim = (client: WebSocket, { id, client: name }: Binding) => {
    if (tokens.has(id)) {
      return 'taken';
    }
    if (!permits.bind(client, name)) {
      return 'full';
    }
    tokens.add(id);
    return 'claimed';
  };
  const serve = (client: WebSocket, address: string): void => {
    const entered = permits.enter(client, addressNetwork(address));
    if (!entered) {
      client.close(closing.tryLater, 'Try again in a moment');
      return;
    }
    entered.displaced?.close(closing.tryLater, 'No token yet, and others are waiting');
    client.once('close', () => permits.leave(client));
    relay(client, medplumUrl, context, {
      claim: (binding) => claim(client, binding),
      release: (id) => tokens.delete(id),
      // A websocket that is closing no longer counts: the others are not closed because of it.
      unread: () =>
        [...new Set([client, ...permits.ofClient(client)])]
          .filter(({ readyState }) => readyState === WebSocket.OPEN)
          .reduce((sum, webSocket) => sum + webSocket.bufferedAmount, 0),
      failed,
    });
  };
  return { serve, permits };
}

/** Checks an upgrade request; returns its problem, if any. */
function upgradeProblem(request: IncomingMessage): string | undefined {
  const issue = hostProblem(request)?.resource;
  return isResource(issue, 'OperationOutcome') ? issue.issue[0]?.diagnostics : undefined;
}

/**
 * Adds the websockets of the service: a client binds itself to Subscriptions with tokens of `$get-ws-binding-token`, and
 * is sent the same Bundles that are posted to other subscribers. Medplum carries them, as messages on a websocket of its
 * own, and checks the tokens and the rights.
 *
 * @returns the numbers of websockets that are open
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/channels.html
 */
export function addWebsockets(
  app: FastifyInstance,
  context: GatewayContext,
  admission: Pick<Admission, 'countAddress'>,
  { medplumBaseUrl, trustProxy }: WebsocketOptions,
): WebsocketCounts {
  const medplumUrl = new URL('ws/subscriptions-r4', medplumBaseUrl.replace(/^http/, 'ws').replace(/\/?$/, '/')).href;
  const server = new WebSocketServer({ noServer: true, maxPayload: clientBytes, perMessageDeflate: false });
  const { serve, permits } = createRelays(context, medplumUrl, (error) =>
    app.log.error(describe(error), 'websocket failed'),
  );
  const pings = keepAlive(server, context.limits.pingMs);
  let isClosing = false;
  server.on('wsClientError', (error: Error, socket: Duplex) => refuseConnection(socket, 'bad-request', error.message));
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const wrong = upgradeProblem(request);
    if (wrong) {
      refuseConnection(socket, 'bad-request', wrong);
      return;
    }
    const address = clientAddress(request, trustProxy);
    if (admission.countAddress(address)) {
      refuseConnection(socket, 'too-many-requests');
      return;
    }
    server.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => undefined);
      server.emit('connection', client);
      if (isClosing) {
        client.close(closing.tryLater, 'Try again in a moment');
      } else {
        serve(client, address);
      }
    });
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    clearInterval(pings);
    for (const client of server.clients) {
      end(client, closing.goingAway, 'Reconnect, and get missed events with $events');
    }
  });
  return { bound: permits.bound, unbound: permits.unbound };
}
