import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import type { Tokens } from '../auth/tokens.ts';
import type { SandboxLogger } from '../platform.ts';
import { readBindingToken } from './binding-token.ts';
import type { Listener, WebsocketSubscriptions } from './subscriptions.ts';

interface WebsocketOptions {
  readonly subscriptions: WebsocketSubscriptions;
  readonly tokens: Pick<Tokens, 'verify'>;
  readonly logger: SandboxLogger;
  readonly heartbeatMilliseconds: number;
}

interface Websockets {
  /** Closes all websockets. After a second, open ones are terminated. */
  close(): Promise<void>;
}

const endpoint = 'subscriptions-r4';
/** Medplum's `maxJsonSize`. */
const maxPayload = 1024 * 1024;
const goingAway = 1001;
const longestGoodbye = 1000;

const messageShape = z.object({
  type: z.string(),
  payload: z.object({ token: z.unknown() }).optional().catch(undefined),
});

function parse(data: string): z.infer<typeof messageShape> | undefined {
  try {
    return messageShape.safeParse(JSON.parse(data)).data;
  } catch {
    return undefined;
  }
}

/** As in Medplum, only the second part of the path counts. */
function isEndpoint(url: string | undefined): boolean {
  return url?.split('/').filter(Boolean)[1] === endpoint;
}

function refuse(socket: Duplex, status: string): void {
  socket.on('error', () => undefined);
  socket.end(`HTTP/1.1 ${status}\r\n\r\n`, () => socket.destroy());
}

function serve(socket: WebSocket, { subscriptions, tokens, logger }: WebsocketOptions): void {
  const listener: Listener = { send: (message) => socket.send(JSON.stringify(message)) };
  const actions = new Map([
    ['bind-with-token', subscriptions.bind],
    ['unbind-from-token', subscriptions.unbind],
  ]);

  function receive(data: string): void {
    const message = parse(data);
    if (message?.type === 'ping') {
      listener.send({ type: 'pong' });
      return;
    }
    const action = actions.get(message?.type ?? '');
    const token = message?.payload?.token;
    if (!action || !token) {
      logger.warn('Websocket message is not understood');
      return;
    }
    const claims = readBindingToken(tokens, String(token));
    if (!('outcome' in claims)) {
      action(listener, claims);
      return;
    }
    listener.send(claims.outcome);
    if (claims.isFatal) {
      socket.terminate();
    }
  }

  socket.on('message', (data: RawData) => receive(data.toString()));
  socket.on('close', () => subscriptions.leave(listener));
  socket.on('error', (error) => logger.warn('Websocket failed', { message: error.message }));
}

/**
 * `/ws/subscriptions-r4`: binds websockets to Subscriptions. Any other upgrade gets 404.
 *
 * @param server - the HTTP server; close the websockets before it
 */
export function serveWebsockets(server: Server, options: WebsocketOptions): Websockets {
  const sockets = new WebSocketServer({ noServer: true, maxPayload });
  const timer = setInterval(options.subscriptions.heartbeat, options.heartbeatMilliseconds).unref();
  let isClosing = false;

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isClosing) {
      refuse(socket, '503 Service Unavailable');
    } else if (isEndpoint(request.url)) {
      sockets.handleUpgrade(request, socket, head, (websocket) => serve(websocket, options));
    } else {
      refuse(socket, '404 Not Found');
    }
  });

  return {
    async close() {
      isClosing = true;
      clearInterval(timer);
      const deadline = setTimeout(() => {
        for (const socket of sockets.clients) {
          socket.terminate();
        }
      }, longestGoodbye);
      for (const socket of sockets.clients) {
        socket.close(goingAway);
      }
      await new Promise((resolve) => sockets.close(resolve));
      clearTimeout(deadline);
    },
  };
}
