import type { Bundle } from '@medplum/fhirtypes';
import type { Binding } from './binding-token.ts';
import { arrived, type Order, orderAfter, released } from './event-order.ts';
import type { ClientMessage, MedplumMessage } from './messages.ts';

/** Closing codes (RFC 6455 section 7.4.1 and the registry that it establishes). */
export const closing = { goingAway: 1001, policy: 1008, failure: 1011, restart: 1012, tryLater: 1013 } as const;

/** How many Subscriptions one websocket can be bound to. */
export const mostBindings = 20;

/** How many messages a client may send in a minute. */
const mostMessages = 120;

const minuteMs = 60_000;

/** How long an event waits for an earlier one, in milliseconds. */
const gapMs = 1_000;

/** Medplum sends a heartbeat every ten seconds; after this time without one, in milliseconds, the connection is lost. */
const silenceMs = 45_000;

/** Time limits of a websocket, in milliseconds. */
interface SessionLimits {
  /** How long it may be open before it is bound. */
  readonly bindMs: number;
  /** How long Medplum may take to accept a token. */
  readonly upstreamTimeoutMs: number;
}

/** A binding of a websocket: it waits for Medplum's confirmation, or records the events that were sent. */
interface Bound {
  readonly binding: Binding;
  readonly order?: Order;
}

/** One websocket of a client. */
export interface Session {
  readonly bound: ReadonlyMap<string, Bound>;
  /** Messages of the client in this minute. */
  readonly messages: number;
  readonly link: 'none' | 'opening' | 'open';
  /** The messages to send to Medplum once its websocket is open. */
  readonly unsaid: readonly string[];
  readonly isOver: boolean;
}

/** The purpose of a timer; `bind`, `gap` and `end` belong to one binding. */
export type Timer = 'idle' | 'minute' | 'silence' | `${'bind' | 'gap' | 'end'} ${string}`;

/** An event of a websocket. */
export type SessionEvent =
  | { readonly kind: 'opened' }
  | { readonly kind: 'said'; readonly message: ClientMessage }
  /** The answer to the effect `claim`. */
  | { readonly kind: 'claimed' | 'taken' | 'full'; readonly binding: Binding }
  | { readonly kind: 'medplum-open' }
  | { readonly kind: 'medplum-said'; readonly message: MedplumMessage | undefined }
  | { readonly kind: 'medplum-lost' }
  | { readonly kind: 'timer'; readonly timer: Timer }
  | { readonly kind: 'unread' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'gone' };

/** An action of the session. */
export type SessionEffect =
  | { readonly kind: 'tell'; readonly message: object }
  | { readonly kind: 'refuse'; readonly diagnostics: string }
  | { readonly kind: 'connect' }
  | { readonly kind: 'say'; readonly text: string }
  /** Takes a token for this websocket alone; answered by `claimed`, `taken` or `full`. */
  | { readonly kind: 'claim'; readonly binding: Binding }
  | { readonly kind: 'release'; readonly id: string }
  | { readonly kind: 'start'; readonly timer: Timer; readonly ms: number }
  | { readonly kind: 'cancel'; readonly timer: Timer }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string };

/** The result of an event: the new session, and the effects to carry out, in order. */
interface Step {
  readonly session: Session;
  readonly effects: readonly SessionEffect[];
}

/** A websocket that has just been opened. */
export const newSession: Session = { bound: new Map(), messages: 0, link: 'none', unsaid: [], isOver: false };

const done = (session: Session, ...effects: readonly SessionEffect[]): Step => ({ session, effects });
const refuse = (diagnostics: string): SessionEffect => ({ kind: 'refuse', diagnostics });

/** The timers of one binding. */
const timersOf = (id: string): readonly Timer[] => [`bind ${id}`, `gap ${id}`, `end ${id}`];

const letGo = (id: string): readonly SessionEffect[] => [
  ...timersOf(id).map((timer) => ({ kind: 'cancel', timer }) as const),
  { kind: 'release', id },
];

/** Ends the session: releases its resources; no further effects follow. */
function end(session: Session, code: number, reason: string): Step {
  const general: readonly Timer[] = ['idle', 'minute', 'silence'];
  return done(
    { ...newSession, isOver: true },
    ...[...session.bound.keys()].flatMap(letGo),
    ...general.map((timer) => ({ kind: 'cancel', timer }) as const),
    { kind: 'close', code, reason },
  );
}

const endIfIdle = (session: Session): Step =>
  session.bound.size === 0 ? end(session, closing.policy, 'No Subscription is bound: get a token') : done(session);

/** Puts effects before those of the next step. */
const before = (effects: readonly SessionEffect[], { session, effects: more }: Step): Step =>
  done(session, ...effects, ...more);

const withBound = (session: Session, id: string, bound: Bound): Session => ({
  ...session,
  bound: new Map(session.bound).set(id, bound),
});

function forget(session: Session, id: string): Step {
  if (!session.bound.has(id)) {
    return done(session);
  }
  const bound = new Map(session.bound);
  bound.delete(id);
  return before(letGo(id), endIfIdle({ ...session, bound }));
}

/** Sends a message to Medplum as soon as its websocket is open. */
function say(session: Session, type: string, { token }: Binding): Step {
  const text = JSON.stringify({ type, payload: { token } });
  if (session.link === 'open') {
    return done(session, { kind: 'say', text });
  }
  const waiting: Session = { ...session, link: 'opening', unsaid: [...session.unsaid, text] };
  return session.link === 'none' ? done(waiting, { kind: 'connect' }) : done(waiting);
}

function bind(session: Session, binding: Binding): Step {
  const [first] = session.bound.values();
  if (session.bound.size >= mostBindings) {
    return done(session, refuse(`A websocket can be bound to at most ${mostBindings} Subscriptions.`));
  }
  return first && first.binding.client !== binding.client
    ? done(session, refuse('A websocket serves one client: open another one for this token.'))
    : done(session, { kind: 'claim', binding });
}

function claimed(session: Session, binding: Binding, { upstreamTimeoutMs }: SessionLimits): Step {
  const said = say(withBound(session, binding.id, { binding }), 'bind-with-token', binding);
  const timer = `bind ${binding.id}` as const;
  return before(
    [
      { kind: 'cancel', timer: 'idle' },
      { kind: 'start', timer, ms: upstreamTimeoutMs },
    ],
    said,
  );
}

function unbind(session: Session, { id }: Binding): Step {
  const bound = session.bound.get(id);
  if (!bound) {
    return done(session);
  }
  const said = say(session, 'unbind-from-token', bound.binding);
  return before(said.effects, forget(said.session, id));
}

/** Medplum has accepted a binding: the client receives the handshake. */
function greet(session: Session, id: string, now: number): Step {
  const known = session.bound.get(id);
  if (!known || known.order) {
    return done(session);
  }
  const { handshake, expiration } = known.binding;
  return done(
    withBound(session, id, { ...known, order: orderAfter(handshake) }),
    { kind: 'cancel', timer: `bind ${id}` },
    { kind: 'start', timer: `end ${id}`, ms: Date.parse(expiration) - now },
    { kind: 'tell', message: handshake },
  );
}

type Decide = (order: Order) => { readonly order: Order; readonly notified: readonly Bundle[] };

function tellInOrder(session: Session, id: string, decide: Decide): Step {
  const known = session.bound.get(id);
  if (!known?.order) {
    return done(session);
  }
  const { order, notified } = decide(known.order);
  const isComplete = order.waiting.size === 0;
  const hasMoved = notified.length > 0 || known.order.waiting.size === 0;
  const timer = `gap ${id}` as const;
  return done(
    withBound(session, id, { ...known, order }),
    ...notified.map((message) => ({ kind: 'tell', message }) as const),
    ...(isComplete ? [{ kind: 'cancel', timer } as const] : []),
    ...(!isComplete && hasMoved ? [{ kind: 'start', timer, ms: gapMs } as const] : []),
  );
}

/**
 * Each message of Medplum proves that the connection is alive. `undefined` is one that no client needs to know, such as a
 * heartbeat.
 */
function onMedplumMessage(session: Session, message: MedplumMessage | undefined, now: number): Step {
  const heard = (): Step => {
    if (message?.kind === 'bound') {
      return greet(session, message.id, now);
    }
    if (message?.kind === 'notification') {
      return tellInOrder(session, message.id, (order) => arrived(order, message.bundle));
    }
    return message ? done(session, refuse(message.diagnostics)) : done(session);
  };
  return before([{ kind: 'start', timer: 'silence', ms: silenceMs }], heard());
}

function onClientMessage(session: Session, message: ClientMessage): Step {
  const counted: Session = { ...session, messages: session.messages + 1 };
  if (counted.messages > mostMessages) {
    return end(session, closing.policy, 'Too many messages');
  }
  const answers: { readonly [Kind in ClientMessage['kind']]: (said: Extract<ClientMessage, { kind: Kind }>) => Step } =
    {
      ping: () => done(counted, { kind: 'tell', message: { type: 'pong' } }),
      malformed: ({ diagnostics }) => done(counted, refuse(diagnostics)),
      bind: ({ binding }) => bind(counted, binding),
      unbind: ({ binding }) => unbind(counted, binding),
    };
  const answer = answers[message.kind] as (said: ClientMessage) => Step;
  const minute: readonly SessionEffect[] =
    session.messages === 0 ? [{ kind: 'start', timer: 'minute', ms: minuteMs }] : [];
  return before(minute, answer(message));
}

const lost = (session: Session): Step =>
  end(session, closing.restart, 'Reconnect and bind again; get missed events with $events');

function ring(session: Session, timer: Timer): Step {
  const [kind = '', id = ''] = timer.split(' ');
  const rings: Readonly<Record<string, () => Step>> = {
    idle: () => endIfIdle(session),
    minute: () => done({ ...session, messages: 0 }),
    silence: () => lost(session),
    gap: () => tellInOrder(session, id, released),
    end: () => forget(session, id),
    bind: () =>
      session.link === 'open'
        ? before(
            [refuse('The token is invalid or has expired: get a new one with $get-ws-binding-token.')],
            forget(session, id),
          )
        : lost(session),
  };
  return rings[kind]?.() ?? done(session);
}

/**
 * Decides the actions after an event. With the first token the session connects to Medplum. It passes tokens on, and
 * Medplum's notifications back.
 */
export function step(session: Session, event: SessionEvent, now: number, limits: SessionLimits): Step {
  if (session.isOver) {
    // A claim that is answered after the end of the session is released.
    return event.kind === 'claimed' ? done(session, { kind: 'release', id: event.binding.id }) : done(session);
  }
  switch (event.kind) {
    case 'opened':
      return done(session, { kind: 'start', timer: 'idle', ms: limits.bindMs });
    case 'said':
      return onClientMessage(session, event.message);
    case 'claimed':
      return claimed(session, event.binding, limits);
    case 'taken':
      return done(session, refuse('A token binds one websocket once: get another with $get-ws-binding-token.'));
    case 'full':
      return end(session, closing.tryLater, 'Too many websockets are bound: try again later');
    case 'medplum-open':
      return done(
        { ...session, link: 'open', unsaid: [] },
        ...session.unsaid.map((text) => ({ kind: 'say', text }) as const),
      );
    case 'medplum-said':
      return onMedplumMessage(session, event.message, now);
    case 'medplum-lost':
      return lost(session);
    case 'timer':
      return ring(session, event.timer);
    case 'unread':
      return end(session, closing.policy, 'Too many unread messages: get the rest with $events');
    case 'failed':
      return end(session, closing.failure, 'Internal error; reconnect and bind again');
    case 'gone':
      return end(session, closing.goingAway, '');
  }
}
