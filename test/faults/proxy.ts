import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Slot } from '@medplum/fhirtypes';
import { atEnd } from '../lib/at-end.ts';

/** A request on its way to the server. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** What the server has answered. */
interface Upstream {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What happens to a request: whether it reaches the server, and what of the answer reaches the client. */
export type Fault = (forward: () => Promise<Upstream>, socket: Socket) => Promise<void>;

function raw({ status, type, body }: Upstream): string {
  return `HTTP/1.1 ${status} X\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const status =
  (code: number): Fault =>
  async (_forward, socket) => {
    socket.write(raw({ status: code, type: 'application/fhir+json', body: '{"resourceType":"OperationOutcome"}' }));
  };

/** The faults of a server, or of the network before it. */
export const faults = {
  /** The request does not arrive. */
  cut: async (_forward, socket) => void socket.destroy(),
  /** The request is carried out, the answer does not arrive. */
  lost: async (forward, socket) => {
    await forward();
    socket.destroy();
  },
  /** The request is carried out, half of the answer arrives. */
  half: async (forward, socket) => {
    const text = raw(await forward());
    socket.end(text.slice(0, text.length - 100));
  },
  /** The request is carried out, the answer never comes. */
  silent: async (forward) => void (await forward()),
  /** The request is carried out, the answer comes a second later. */
  late: async (forward, socket) => {
    const text = raw(await forward());
    await setTimeout(1_000);
    socket.write(text);
  },
  /** The request is carried out, the answer comes twice. */
  twice: async (forward, socket) => {
    const text = raw(await forward());
    socket.write(text + text);
  },
  /** The request arrives twice; the second answer counts. */
  doubled: async (forward, socket) => {
    await forward();
    socket.write(raw(await forward()));
  },
  /** The request is carried out, the answer is that of a proxy that has given up. */
  'done, but 502': async (forward, socket) => {
    socket.write(raw({ ...(await forward()), status: 502, type: 'text/html', body: '<html>' }));
  },
  429: status(429),
  500: status(500),
  503: status(503),
} as const satisfies Record<string | number, Fault>;

/** A proxy in front of a server that hurts what it is told to hurt. */
export interface FaultyProxy {
  readonly url: string;
  /** Address of the server, with a slash at its end. */
  target: string;
  /** Chooses the fault of a request; `undefined` lets it pass. */
  choose: (passing: Passing) => Fault | undefined;
  /** Ends every connection, as a server does that has waited long enough for a request. */
  readonly closeConnections: () => void;
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

/** Headers that concern the connection to the proxy, not the request. */
const ofConnection = new Set(['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'expect']);

async function forwardTo(target: string, { method, path, body }: Passing, message: IncomingMessage): Promise<Upstream> {
  const headers = Object.fromEntries(
    Object.entries(message.headers).flatMap(([name, value]) => (ofConnection.has(name) ? [] : [[name, String(value)]])),
  );
  const response = await fetch(`${target.replace(/\/$/, '')}${path}`, { method, headers, ...(body && { body }) });
  const type = response.headers.get('content-type') ?? 'text/plain';
  return { status: response.status, type, body: await response.text() };
}

const pass: Fault = async (forward, socket) => void socket.write(raw(await forward()));

/** Starts a proxy that lets everything pass until it is told otherwise; it ends with the tests of the file. */
export async function startProxy(): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const proxy: FaultyProxy & { url: string } = {
    url: '',
    target: '',
    choose: () => undefined,
    closeConnections: () => {
      for (const socket of sockets) {
        socket.destroy();
      }
    },
  };
  const server = createServer((message: IncomingMessage, response: ServerResponse) => {
    const { socket } = response;
    const handle = async (): Promise<void> => {
      const passing = { method: message.method ?? '', path: message.url ?? '', body: await bodyOf(message) };
      response.detachSocket(socket as Socket);
      const fault = proxy.choose(passing) ?? pass;
      await fault(() => forwardTo(proxy.target, passing, message), socket as Socket);
    };
    handle().catch(() => socket?.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  proxy.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  atEnd(async () => {
    proxy.closeConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return proxy;
}

/** Lets a fault happen to the first request that is meant, and everything else pass. */
export function once(fault: Fault, isMeant: (passing: Passing) => boolean): FaultyProxy['choose'] {
  let isOver = false;
  return (passing) => {
    if (isOver || !isMeant(passing)) {
      return undefined;
    }
    isOver = true;
    return fault;
  };
}

/**
 * Narrows what is meant to the requests that name a slot: Bots that are still busy with what other tests have done meet
 * no fault.
 */
export const about =
  ({ id }: Slot, isMeant: (passing: Passing) => boolean) =>
  (passing: Passing): boolean =>
    isMeant(passing) && passing.body.includes(`${id}`);

/** A fault, and the moment when the server has carried the request out and answered. */
export function observed(fault: Fault): { fault: Fault; carriedOut: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    carriedOut: promise,
    fault: (forward, socket) => fault(() => forward().finally(resolve), socket),
  };
}

/** The requests that a Bot makes of the server. */
export const isRead = ({ body }: Passing): boolean => body.includes('"type":"batch"');
export const isTransaction = ({ body }: Passing): boolean => body.includes('"type":"transaction"');
