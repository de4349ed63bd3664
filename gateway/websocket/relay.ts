import { type RawData, WebSocket } from 'ws';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import type { GatewayContext } from '../context.ts';
import { isAnyResource } from '../http/response.ts';
import type { Binding } from './binding-token.ts';
import { readClientMessage, readMedplumMessage } from './messages.ts';
import { newSession, type Session, type SessionEffect, type SessionEvent, step, type Timer } from './session.ts';

/** The maximum of unread bytes on all websockets of a client. */
const unreadBytes = 8 * 1024 * 1024;

/** How long a client may take to close its end, in milliseconds; then what it left unread is dropped. */
const graceMs = 1_000;

/** Ends a websocket, and says why to a client that still reads. */
export function end(client: WebSocket, code: number, reason: string): void {
  client.close(code, reason);
  setTimeout(() => client.terminate(), graceMs).unref();
}

/** The longest time that a timer can have, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** The state that all websockets of a gateway share. */
export interface SharedSockets {
  /**
   * Claims a token for one websocket, and with the first one a permit of the bound websockets.
   *
   * @returns `taken` if a websocket has the token already; `full` if no permit is left
   */
  readonly claim: (binding: Binding) => 'claimed' | 'taken' | 'full';
  readonly release: (id: string) => void;
  /** The unread bytes on all websockets of the same client. */
  readonly unread: () => number;
  /** Called with errors that should not have happened. */
  readonly failed: (error: unknown) => void;
}

/** The timers of a websocket; a new one replaces the old one of the same kind. */
function createTimers(ring: (timer: Timer) => void) {
  const timers = new Map<Timer, NodeJS.Timeout>();
  return {
    start: (timer: Timer, ms: number): void => {
      clearTimeout(timers.get(timer));
      timers.set(
        timer,
        setTimeout(() => ring(timer), Math.min(Math.max(ms, 0), longestTimer)),
      );
    },
    cancel: (timer: Timer): void => {
      clearTimeout(timers.get(timer));
      timers.delete(timer);
    },
  };
}

/** Opens a websocket to Medplum and reports what happens on it. */
function connectToMedplum(url: string, { limits }: GatewayContext, report: (event: SessionEvent) => void): WebSocket {
  const lost = (): void => report({ kind: 'medplum-lost' });
  return new WebSocket(url, {
    handshakeTimeout: limits.upstreamTimeoutMs,
    maxPayload: limits.botResponseBytes,
    perMessageDeflate: false,
  })
    .on('open', () => report({ kind: 'medplum-open' }))
    .on('message', (data: RawData) => report({ kind: 'medplum-said', message: readMedplumMessage(data.toString()) }))
    .on('close', lost)
    .on('error', lost);
}

type Report = (event: SessionEvent) => void;

/**
 * Makes the function that passes events to a session, one after the other. Events that effects report are handled after
 * all effects of the current event. An effect that throws ends the session, and nothing else.
 */
function createLoop(
  limits: GatewayContext['limits'],
  perform: (effect: SessionEffect) => void,
  failed: SharedSockets['failed'],
): Report {
  let session: Session = newSession;
  const events: SessionEvent[] = [];
  const safely = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      failed(error);
      events.push({ kind: 'failed' });
    }
  };
  const happen = (event: SessionEvent): void => {
    const { session: after, effects } = step(session, event, Date.now(), limits);
    session = after;
    for (const effect of effects) {
      safely(() => perform(effect));
    }
  };
  return (event) => {
    if (events.push(event) > 1) {
      return;
    }
    for (let first = events[0]; first; first = events[0]) {
      const current = first;
      safely(() => happen(current));
      events.shift();
    }
  };
}

/**
 * Makes the function that sends messages to a client. If too many bytes are unread on all websockets of the client, and
 * some on this one, it reports `unread` instead of sending.
 */
function createSender(
  client: WebSocket,
  { addresses }: GatewayContext,
  unread: SharedSockets['unread'],
  report: Report,
): (message: object) => void {
  return (message) => {
    if (client.bufferedAmount > 0 && unread() > unreadBytes) {
      report({ kind: 'unread' });
    } else {
      client.send(JSON.stringify(isAnyResource(message) ? addresses.rewriteResource(message) : message));
    }
  };
}

/** Performs the effects of one session. */
function createPerformer(
  client: WebSocket,
  medplumUrl: string,
  context: GatewayContext,
  { claim, release, unread }: SharedSockets,
  report: Report,
): (effect: SessionEffect) => void {
  let medplum: WebSocket | undefined;
  const timers = createTimers((timer) => report({ kind: 'timer', timer }));
  const tell = createSender(client, context, unread, report);
  const performers: { readonly [K in SessionEffect['kind']]: (effect: Extract<SessionEffect, { kind: K }>) => void } = {
    tell: ({ message }) => tell(message),
    refuse: ({ diagnostics }) => tell(toOperationOutcome([{ code: 'malformed-request', diagnostics }], context.config)),
    connect: () => {
      medplum = connectToMedplum(medplumUrl, context, report);
    },
    say: ({ text }) => medplum?.send(text),
    claim: ({ binding }) => report({ kind: claim(binding), binding }),
    release: ({ id }) => release(id),
    start: ({ timer, ms }) => timers.start(timer, ms),
    cancel: ({ timer }) => timers.cancel(timer),
    close: ({ code, reason }) => {
      end(client, code, reason);
      medplum?.terminate();
    },
  };
  return <K extends SessionEffect['kind']>(effect: Extract<SessionEffect, { kind: K }>) =>
    performers[effect.kind as K](effect);
}

/**
 * Serves one websocket: passes events to its session and performs the effects that the session returns.
 *
 * @param medplumUrl - where Medplum accepts websockets
 */
export function relay(client: WebSocket, medplumUrl: string, context: GatewayContext, shared: SharedSockets): void {
  const report: Report = createLoop(context.limits, (effect) => perform(effect), shared.failed);
  const perform = createPerformer(client, medplumUrl, context, shared, report);
  client
    .on('message', (data: RawData) => {
      const message = readClientMessage(data.toString(), context.bindingTokens.unseal);
      report({ kind: 'said', message });
    })
    .on('close', () => report({ kind: 'gone' }));
  report({ kind: 'opened' });
}
