import type { Bundle, Parameters } from '@medplum/fhirtypes';
import { WebSocket } from 'ws';
import { isResource } from '../../../core/fhir/resource.ts';
import { eventually, until } from '../../lib/until.ts';
import { request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';
import { parameterIn, typeOf } from './listener.ts';

/** A websocket of a subscriber, and what it was sent. */
export interface Socket {
  readonly received: unknown[];
  /** The code it was closed with. */
  closed: number | undefined;
  readonly send: (message: unknown) => void;
  readonly close: () => void;
}

const open = new Set<WebSocket>();

/** Connects a websocket. */
export async function connect(url: string): Promise<Socket> {
  const client = new WebSocket(url);
  const socket: Socket = {
    received: [],
    closed: undefined,
    send: (message) => client.send(typeof message === 'string' ? message : JSON.stringify(message)),
    close: () => client.close(),
  };
  open.add(client);
  client.on('message', (data: Buffer) => socket.received.push(JSON.parse(data.toString())));
  client.on('close', (code) => {
    socket.closed = code;
    open.delete(client);
  });
  await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject));
  return socket;
}

/** Closes every websocket that the tests of a file have opened. */
export function closeSockets(): void {
  for (const client of open) {
    client.terminate();
  }
}

/** What `$get-ws-binding-token` answers. */
export async function bindingTo(id: string | undefined, role: Role = 'portal-a') {
  const response = await request(role, 'GET', `/Subscription/${id}/$get-ws-binding-token`);
  const { parameter = [] }: Parameters = resourceIn('Parameters', response);
  const of = (name: string) => parameter.find((one) => one.name === name);
  return {
    token: of('token')?.valueString ?? '',
    expiration: of('expiration')?.valueDateTime ?? '',
    subscription: of('subscription')?.valueString,
    url: of('websocket-url')?.valueUrl ?? '',
  };
}

/** The message that binds a websocket, as Medplum has it. */
export const bindWith = (token: string) => ({ type: 'bind-with-token', payload: { token } });

/** The notifications of one kind about a Subscription that a websocket was sent. */
export function told({ received }: Socket, id: string | undefined, type: 'handshake' | 'event-notification'): Bundle[] {
  return received
    .flatMap((one) => (isResource(one, 'Bundle') ? [one] : []))
    .filter((bundle) => typeOf(bundle) === type && subscriptionOf(bundle)?.endsWith(`/Subscription/${id}`));
}

const subscriptionOf = (bundle: Bundle) => parameterIn(bundle, 'subscription')?.valueReference?.reference;

/** Waits until a websocket was told so many events of a Subscription. */
export function eventsOn(socket: Socket, id: string | undefined, count: number): Promise<Bundle[]> {
  return eventually(async () => told(socket, id, 'event-notification')).is((found) => found.length >= count);
}

/** The codes with which the service asks a client to connect again: it lost Medplum, or has no place at the moment. */
const comeAgain = [1012, 1013];

/**
 * Binds a websocket to a Subscription.
 *
 * @param message - what is sent, with a token
 * @returns `false` if it was asked to connect again
 */
export async function isBound(socket: Socket, id: string | undefined, message: unknown): Promise<boolean> {
  const before = told(socket, id, 'handshake').length;
  socket.send(message);
  const isGreeted = () => told(socket, id, 'handshake').length > before;
  await until(() => isGreeted() || socket.closed !== undefined);
  if (!isGreeted() && !comeAgain.includes(socket.closed ?? 0)) {
    throw new Error(`Closed with ${socket.closed}: ${JSON.stringify(socket.received)}`);
  }
  return isGreeted();
}

/**
 * A websocket that is bound to one or several Subscriptions; it connects again when it is asked to, as clients do.
 *
 * @param message - what is sent to bind it, with the token for a Subscription
 */
export async function bound(
  subscriptions: string | undefined | readonly (string | undefined)[],
  role: Role = 'portal-a',
  message: (token: string, id: string | undefined) => unknown = bindWith,
): Promise<Socket> {
  const ids = [subscriptions].flat();
  return until(async () => {
    // The tokens come first: a websocket is closed if nothing binds it soon.
    const bindings = await Promise.all(ids.map((id) => bindingTo(id, role)));
    const socket = await connect(bindings[0]?.url ?? '');
    for (const [index, { token }] of bindings.entries()) {
      if (!(await isBound(socket, ids[index], message(token, ids[index])))) {
        return undefined;
      }
    }
    return socket;
  });
}
