import { type RawData, WebSocket } from 'ws';
import { toOperationOutcome } from '../../core/fhir/outcome.ts';
import type { GatewayContext } from '../context.ts';
import { isAnyResource } from '../http/response.ts';
import { arrived, type Order, orderAfter, released } from './event-order.ts';
import { type Binding, readClientMessage, readMedplumMessage } from './messages.ts';

/** Closing codes (RFC 6455 section 7.4.1 and the registry that it founds). */
export const closing = { goingAway: 1001, policy: 1008, failure: 1011, restart: 1012, tryLater: 1013 } as const;

/** What a client may leave unread, in bytes. */
const unreadBytes = 8 * 1024 * 1024;

/** How many Subscriptions one websocket can be bound to. */
const mostBindings = 20;

/** How many messages a client may send in a minute. */
const mostMessages = 120;

const minuteMs = 60_000;

/** How long an event waits for one before it, in milliseconds. */
const gapMs = 1_000;

/** Medplum says every ten seconds that it is still there; after so many milliseconds of silence it is not. */
const silenceMs = 45_000;

/** The longest time that a timer can have, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** Timers by what they are for; a new one for the same takes the place of the old. */
function createTimers() {
  const timers = new Map<string, NodeJS.Timeout>();
  const cancel = (what: string): void => {
    clearTimeout(timers.get(what));
    timers.delete(what);
  };
  return {
    cancel,
    set: (what: string, ms: number, act: () => void): void => {
      cancel(what);
      const run = (): void => {
        timers.delete(what);
        act();
      };
      timers.set(what, setTimeout(run, Math.min(Math.max(ms, 0), longestTimer)));
    },
    clear: (): void => {
      for (const what of timers.keys()) {
        cancel(what);
      }
    },
  };
}

/** What a websocket is bound to: it waits for Medplum's word, or knows what was told. */
interface Bound {
  readonly binding: Binding;
  readonly order?: Order;
}

/** What all websockets of a gateway have in common. */
export interface SharedSockets {
  /** Claims a token for one websocket; `false` if another one has it. */
  readonly claim: (id: string) => boolean;
  readonly release: (id: string) => void;
  /** Is told when a websocket is bound for the first time. */
  readonly settled: () => void;
  /** Is told what should not have happened. */
  readonly failed: (error: unknown) => void;
}

/**
 * Serves one websocket, for as long as it lasts. With the first token it connects to Medplum, passes tokens on, and hands
 * over the notifications that Medplum's messages carry.
 *
 * @param client - the client's websocket
 * @param medplumUrl - where Medplum takes websockets
 */
export function relay(
  client: WebSocket,
  medplumUrl: string,
  { config, addresses, limits }: GatewayContext,
  { claim, release, settled, failed }: SharedSockets,
): void {
  const bound = new Map<string, Bound>();
  const timers = createTimers();
  const unsaid: string[] = [];
  let medplum: WebSocket | undefined;
  let messages = 0;
  let isOver = false;

  const end = (code: number, reason: string): void => {
    isOver = true;
    timers.clear();
    for (const id of bound.keys()) {
      release(id);
    }
    bound.clear();
    client.close(code, reason);
    medplum?.terminate();
  };
  const safely =
    (receive: (text: string) => void) =>
    (data: RawData): void => {
      // What comes while a websocket is being closed would begin everything anew.
      if (isOver) {
        return;
      }
      try {
        receive(data.toString());
      } catch (error) {
        failed(error);
        end(closing.failure, 'This could not be done; connect and bind anew');
      }
    };
  const endIfIdle = (): void => {
    if (bound.size === 0) {
      end(closing.policy, 'Nothing is bound: ask for a token');
    }
  };
  const lost = (): void => end(closing.restart, 'Connect and bind anew, and ask $events for what was missed');
  const tell = (message: object): void => {
    if (client.bufferedAmount > unreadBytes) {
      end(closing.policy, 'Too much is left unread: ask $events for the rest');
    } else {
      client.send(JSON.stringify(isAnyResource(message) ? addresses.rewriteResource(message) : message));
    }
  };
  const refuse = (diagnostics: string): void =>
    tell(toOperationOutcome([{ code: 'malformed-request', diagnostics }], config));

  const forget = (id: string): void => {
    bound.delete(id);
    release(id);
    timers.cancel(`bind ${id}`);
    timers.cancel(`gap ${id}`);
    timers.cancel(`end ${id}`);
    endIfIdle();
  };
  const tellInOrder = (id: string, decide: (order: Order) => ReturnType<typeof arrived>): void => {
    const known = bound.get(id);
    if (!known?.order) {
      return;
    }
    const { order, told } = decide(known.order);
    bound.set(id, { ...known, order });
    told.forEach(tell);
    if (order.waiting.size === 0) {
      timers.cancel(`gap ${id}`);
    } else if (!isOver && (told.length > 0 || known.order.waiting.size === 0)) {
      timers.set(`gap ${id}`, gapMs, () => tellInOrder(id, released));
    }
  };
  const greet = (id: string): void => {
    const known = bound.get(id);
    if (!known || known.order) {
      return;
    }
    const { handshake, expiration } = known.binding;
    bound.set(id, { ...known, order: orderAfter(handshake) });
    timers.cancel(`bind ${id}`);
    timers.set(`end ${id}`, Date.parse(expiration) - Date.now(), () => forget(id));
    settled();
    tell(handshake);
  };
  const listen = safely((text) => {
    timers.set('silence', silenceMs, lost);
    const message = readMedplumMessage(text);
    if (message?.kind === 'bound') {
      greet(message.id);
    } else if (message?.kind === 'notification') {
      const { id, bundle } = message;
      tellInOrder(id, (order) => arrived(order, bundle));
    } else if (message?.kind === 'refusal') {
      refuse(message.diagnostics);
    }
  });

  /** Says something to Medplum, as soon as it can be heard. */
  const say = (type: string, { token }: Binding): void => {
    const message = JSON.stringify({ type, payload: { token } });
    if (!medplum) {
      const opening = new WebSocket(medplumUrl, {
        handshakeTimeout: limits.connectTimeoutMs,
        maxPayload: limits.responseBytes,
        perMessageDeflate: false,
      });
      opening.on('message', listen).on('close', lost).on('error', lost);
      opening.once('open', () => {
        for (const waiting of unsaid.splice(0)) {
          opening.send(waiting);
        }
      });
      medplum = opening;
    }
    if (medplum.readyState === WebSocket.CONNECTING) {
      unsaid.push(message);
    } else {
      medplum.send(message);
    }
  };
  const bind = (binding: Binding): void => {
    const { id } = binding;
    if (bound.size >= mostBindings) {
      refuse(`One websocket is bound to at most ${mostBindings} Subscriptions.`);
    } else if (!claim(id)) {
      refuse('A token binds one websocket, once: ask $get-ws-binding-token for another.');
    } else {
      bound.set(id, { binding });
      timers.cancel('idle');
      timers.set(`bind ${id}`, limits.upstreamTimeoutMs, () => {
        refuse('The token is not accepted (any more): ask $get-ws-binding-token for a new one.');
        forget(id);
      });
      say('bind-with-token', binding);
    }
  };
  const unbind = (binding: Binding): void => {
    if (bound.has(binding.id)) {
      say('unbind-from-token', binding);
      forget(binding.id);
    }
  };

  const receive = safely((text) => {
    if (messages++ === 0) {
      timers.set('minute', minuteMs, () => {
        messages = 0;
      });
    }
    const message = readClientMessage(text);
    if (messages > mostMessages) {
      end(closing.policy, 'Too many messages');
    } else if (message.kind === 'malformed') {
      refuse(message.diagnostics);
    } else if (message.kind === 'ping') {
      tell({ type: 'pong' });
    } else {
      (message.kind === 'bind' ? bind : unbind)(message.binding);
    }
  });
  client.on('message', receive).on('close', () => end(closing.goingAway, ''));
  timers.set('idle', limits.bindMs, endIfIdle);
}
