import { createServer, type IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Binding } from '../../../gateway/websocket/binding-token.ts';

/** A Medplum that has websockets only, and remembers what it was told. */
export interface SocketMedplum {
  url: string;
  readonly received: unknown[];
  readonly sockets: Set<WebSocket>;
  /** The headers of the requests that became websockets. */
  readonly offers: IncomingMessage['headers'][];
  readonly say: (message: unknown) => void;
  readonly close: () => void;
}

export async function startSocketMedplum(): Promise<SocketMedplum> {
  const http = createServer();
  const server = new WebSocketServer({ server: http, path: '/ws/subscriptions-r4', perMessageDeflate: true });
  const fake: SocketMedplum = {
    url: '',
    received: [],
    sockets: server.clients,
    offers: [],
    say: (message) => {
      for (const socket of server.clients) {
        socket.send(typeof message === 'string' ? message : JSON.stringify(message));
      }
    },
    close: () => {
      http.closeAllConnections();
      http.close();
      for (const socket of server.clients) {
        socket.terminate();
      }
    },
  };
  server.on('connection', (socket, { headers }) => {
    fake.offers.push(headers);
    socket.on('message', (data: Buffer) => fake.received.push(JSON.parse(data.toString())));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  fake.url = `http://127.0.0.1:${Object.assign({ port: 0 }, http.address()).port}`;
  return fake;
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** A binding of the client `portal-a`, for an hour unless something else is said. */
export const aBinding = (id: string, expiration = inAnHour()): Binding => ({
  id,
  token: `token-of-${id}`,
  expiration,
  client: 'ClientApplication/portal-a-id',
  handshake: { resourceType: 'Bundle', type: 'history', id: `handshake-${id}` },
});

/** What Medplum says of a Subscription, and the resource that it tells with it. */
export const status = (type: string, id: string, notified?: object) => ({
  resourceType: 'Bundle',
  type: 'history',
  entry: [
    { resource: { resourceType: 'SubscriptionStatus', type, subscription: { reference: `Subscription/${id}` } } },
    ...(notified ? [{ resource: notified }] : []),
  ],
});

/** The resource in which Medplum carries a notification. */
export const message = (bundle: object) => ({
  resourceType: 'Communication',
  payload: [{ contentString: JSON.stringify(bundle) }],
});
