import { type RawData, WebSocket } from 'ws';
import { toOperationOutcome } from '../fhir/outcome.ts';
import type { GatewayContext } from './context.ts';
import { type Binding, readClientMessage, readMedplumMessage } from './websocket-messages.ts';
import { arrived, type Order, orderAfter, released } from './websocket-order.ts';

/** Closing codes (RFC 6455 section 7.4.1 and the registry that it founds). */
export const closing = { goingAway: 1001, policy: 1008, restart: 1012, tryLater: 1013 } as const;

/** What a client may leave unread, in bytes. */
const unreadBytes = 8 * 1024 * 1024;

/** How many Subscriptions one websocket can be bound to. */
const mostBindings = 20;

/** The longest time that a timer can have, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** Timers that end together. */
function createTimers() {
  const timers = new Set<NodeJS.Timeout>();
  return {
    after: (ms: number, act: () => void): void => {
      timers.add(setTimeout(act, Math.min(Math.max(ms, 0), longestTimer)));
    },
    clear: (): void => timers.forEach(clearTimeout),
  };
}

/** How long an event waits for one before it, in milliseconds. */
const gapMs = 1_000;

/** The bindings of one websocket: those that wait for Medplum, and what was told of those that it has confirmed. */
function createBindings() {
  const waiting = new Map<string, Binding>();
  const bound = new Map<string, Order>();
  return {
    count: (): number => waiting.size + bound.size,
    orderOf: (id: string): Order | undefined => bound.get(id),
    keep: (id: string, order: Order): void => void bound.set(id, order),
    isIdle: (): boolean => bound.size === 0,
    isWaiting: ({ id }: Binding): boolean => waiting.has(id),
    ask: (binding: Binding): void => void waiting.set(binding.id, binding),
    confirm: (id: string): Binding | undefined => {
      const binding = waiting.get(id);
      if (binding) {
        waiting.delete(id);
        bound.set(id, orderAfter(binding.handshake));
      }
      return binding;
    },
    forget: ({ id }: Binding): void => {
      waiting.delete(id);
      bound.delete(id);
    },
  };
}

/**
 * Serves one websocket, for as long as it lasts, with one to Medplum that belongs to it: passes tokens on, and hands the
 * notifications over that Medplum's messages carry.
 *
 * @param client - the client's websocket
 * @param medplumUrl - where Medplum takes websockets
 */
export function relay(client: WebSocket, medplumUrl: string, { config, addresses, limits }: GatewayContext): void {
  const bindings = createBindings();
  const timers = createTimers();
  const medplum = new WebSocket(medplumUrl, {
    handshakeTimeout: limits.connectTimeoutMs,
    maxPayload: limits.responseBytes,
    perMessageDeflate: false,
  });
  const opened = new Promise<void>((resolve) => medplum.once('open', resolve));

  const end = (code: number, reason: string): void => {
    timers.clear();
    client.close(code, reason);
    medplum.terminate();
  };
  const endIfIdle = (): void => {
    if (bindings.isIdle()) {
      end(closing.policy, 'Nothing is bound: ask for a token');
    }
  };
  const tell = (message: object): void => {
    if (client.bufferedAmount > unreadBytes) {
      end(closing.policy, 'Too much is left unread: ask $events for the rest');
    } else {
      client.send(addresses.scrub(JSON.stringify(message)));
    }
  };
  const refuse = (diagnostics: string): void =>
    tell(toOperationOutcome([{ code: 'malformed-request', diagnostics }], config));

  const ask = (type: string, { token }: Binding): void => medplum.send(JSON.stringify({ type, payload: { token } }));
  const bind = (binding: Binding): void => {
    if (bindings.count() >= mostBindings) {
      refuse(`One websocket is bound to at most ${mostBindings} Subscriptions.`);
      return;
    }
    bindings.ask(binding);
    ask('bind-with-token', binding);
    timers.after(limits.upstreamTimeoutMs, () => {
      if (bindings.isWaiting(binding)) {
        bindings.forget(binding);
        refuse('The token is not accepted (any more): ask $get-ws-binding-token for a new one.');
      }
    });
  };
  const unbind = (binding: Binding): void => {
    bindings.forget(binding);
    ask('unbind-from-token', binding);
  };
  const greet = (id: string): void => {
    const binding = bindings.confirm(id);
    if (binding) {
      tell(binding.handshake);
      timers.after(Date.parse(binding.expiration) - Date.now(), () => {
        bindings.forget(binding);
        endIfIdle();
      });
    }
  };

  const tellInOrder = (id: string, decide: (order: Order) => ReturnType<typeof arrived>): void => {
    const known = bindings.orderOf(id);
    if (!known) {
      return;
    }
    const { order, told } = decide(known);
    bindings.keep(id, order);
    told.forEach(tell);
    if (order.waiting.size > 0) {
      timers.after(gapMs, () => tellInOrder(id, released));
    }
  };

  client.on('message', (data: RawData) => {
    const message = readClientMessage(data.toString());
    if (message.kind === 'malformed') {
      refuse(message.diagnostics);
    } else if (message.kind === 'ping') {
      tell({ type: 'pong' });
    } else {
      void opened.then(() => (message.kind === 'bind' ? bind : unbind)(message.binding));
    }
  });
  medplum.on('message', (data: RawData) => {
    const message = readMedplumMessage(data.toString());
    if (message?.kind === 'bound') {
      greet(message.id);
    } else if (message?.kind === 'notification') {
      tellInOrder(message.id, (order) => arrived(order, message.bundle));
    } else if (message?.kind === 'refusal') {
      refuse(message.diagnostics);
    }
  });
  const lost = (): void => end(closing.restart, 'Connect and bind anew, and ask $events for what was missed');
  medplum.on('close', lost);
  medplum.on('error', lost);
  client.on('error', () => undefined);
  client.on('close', () => end(closing.goingAway, ''));
  timers.after(limits.requestTimeoutMs, endIfIdle);
}
