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

const stepOf = (session: Session, ...effects: readonly SessionEffect[]): Step => ({ session, effects });
const refuse = (diagnostics: string): SessionEffect => ({ kind: 'refuse', diagnostics });

/** The timers of one binding. */
const timersOf = (id: string): readonly Timer[] => [`bind ${id}`, `gap ${id}`, `end ${id}`];

/** The effects that end a binding: its timers stop, and another websocket can claim its token. */
const releaseEffects = (id: string): readonly SessionEffect[] => [
  ...timersOf(id).map((timer) => ({ kind: 'cancel', timer }) as const),
  { kind: 'release', id },
];

/** Ends the session: releases its resources; no further effects follow. */
function end(session: Session, code: number, reason: string): Step {
  const general: readonly Timer[] = ['idle', 'minute', 'silence'];
  return stepOf(
    { ...newSession, isOver: true },
    ...[...session.bound.keys()].flatMap(releaseEffects),
    ...general.map((timer) => ({ kind: 'cancel', timer }) as const),
    { kind: 'close', code, reason },
  );
}

const endIfIdle = (session: Session): Step =>
  session.bound.size === 0 ? end(session, closing.policy, 'No Subscription is bound: get a token') : stepOf(session);

/** Puts effects before those of the next step. */
const withEffectsFirst = (effects: readonly SessionEffect[], { session, effects: more }: Step): Step =>
  stepOf(session, ...effects, ...more);

const withBound = (session: Session, id: string, bound: Bound): Session => ({
  ...session,
  bound: new Map(session.bound).set(id, bound),
});

/** Ends a binding; without another binding, the session ends, too. */
function endBinding(session: Session, id: string): Step {
  if (!session.bound.has(id)) {
    return stepOf(session);
  }
  const bound = new Map(session.bound);
  bound.delete(id);
  return withEffectsFirst(releaseEffects(id), endIfIdle({ ...session, bound }));
}

/** Sends a message to Medplum, once its websocket is open; opens it if there is none. */
function sendToMedplum(session: Session, type: string, { token }: Binding): Step {
  const text = JSON.stringify({ type, payload: { token } });
  if (session.link === 'open') {
    return stepOf(session, { kind: 'say', text });
  }
  const waiting: Session = { ...session, link: 'opening', unsaid: [...session.unsaid, text] };
  return session.link === 'none' ? stepOf(waiting, { kind: 'connect' }) : stepOf(waiting);
}

/** A client wants to bind a token: the response to the effect `claim` decides. */
function onBind(session: Session, binding: Binding): Step {
  const [first] = session.bound.values();
  if (session.bound.size >= mostBindings) {
    return stepOf(session, refuse(`A websocket can be bound to at most ${mostBindings} Subscriptions.`));
  }
  return first && first.binding.client !== binding.client
    ? stepOf(session, refuse('A websocket serves one client: open another one for this token.'))
    : stepOf(session, { kind: 'claim', binding });
}

/** The token is claimed: it is passed to Medplum, which has a limited time to confirm the binding. */
function onClaimed(session: Session, binding: Binding, { upstreamTimeoutMs }: SessionLimits): Step {
  const sent = sendToMedplum(withBound(session, binding.id, { binding }), 'bind-with-token', binding);
  const timer = `bind ${binding.id}` as const;
  return withEffectsFirst(
    [
      { kind: 'cancel', timer: 'idle' },
      { kind: 'start', timer, ms: upstreamTimeoutMs },
    ],
    sent,
  );
}

function onUnbind(session: Session, { id }: Binding): Step {
  const bound = session.bound.get(id);
  if (!bound) {
    return stepOf(session);
  }
  const sent = sendToMedplum(session, 'unbind-from-token', bound.binding);
  return withEffectsFirst(sent.effects, endBinding(sent.session, id));
}

/** Medplum has confirmed a binding: the client receives the handshake, once. */
function onConfirmed(session: Session, id: string, now: number): Step {
  const bound = session.bound.get(id);
  if (!bound || bound.order) {
    return stepOf(session);
  }
  const { handshake, expiration } = bound.binding;
  return stepOf(
    withBound(session, id, { ...bound, order: orderAfter(handshake) }),
    { kind: 'cancel', timer: `bind ${id}` },
    { kind: 'start', timer: `end ${id}`, ms: Date.parse(expiration) - now },
    { kind: 'tell', message: handshake },
  );
}

type Decide = (order: Order) => { readonly order: Order; readonly notified: readonly Bundle[] };

/** Sends the notifications that `decide` releases; while others wait for a gap to close, a timer limits the wait. */
function tellInOrder(session: Session, id: string, decide: Decide): Step {
  const bound = session.bound.get(id);
  if (!bound?.order) {
    return stepOf(session);
  }
  const { order, notified } = decide(bound.order);
  const isComplete = order.waiting.size === 0;
  const hasMoved = notified.length > 0 || bound.order.waiting.size === 0;
  const timer = `gap ${id}` as const;
  return stepOf(
    withBound(session, id, { ...bound, order }),
    ...notified.map((message) => ({ kind: 'tell', message }) as const),
    ...(isComplete ? [{ kind: 'cancel', timer } as const] : []),
    ...(!isComplete && hasMoved ? [{ kind: 'start', timer, ms: gapMs } as const] : []),
  );
}

/** Each message of Medplum proves that the connection is alive; `undefined` is one for no client, such as a heartbeat. */
function onMedplumMessage(session: Session, message: MedplumMessage | undefined, now: number): Step {
  const passOn = (): Step => {
    if (message?.kind === 'bound') {
      return onConfirmed(session, message.id, now);
    }
    if (message?.kind === 'notification') {
      return tellInOrder(session, message.id, (order) => arrived(order, message.bundle));
    }
    return message ? stepOf(session, refuse(message.diagnostics)) : stepOf(session);
  };
  return withEffectsFirst([{ kind: 'start', timer: 'silence', ms: silenceMs }], passOn());
}

function onClientMessage(session: Session, message: ClientMessage): Step {
  const counted: Session = { ...session, messages: session.messages + 1 };
  if (counted.messages > mostMessages) {
    return end(session, closing.policy, 'Too many messages');
  }
  const handlers: { readonly [Kind in ClientMessage['kind']]: (said: Extract<ClientMessage, { kind: Kind }>) => Step } =
    {
      ping: () => stepOf(counted, { kind: 'tell', message: { type: 'pong' } }),
      malformed: ({ diagnostics }) => stepOf(counted, refuse(diagnostics)),
      bind: ({ binding }) => onBind(counted, binding),
      unbind: ({ binding }) => onUnbind(counted, binding),
    };
  const handle = handlers[message.kind] as (said: ClientMessage) => Step;
  const minute: readonly SessionEffect[] =
    session.messages === 0 ? [{ kind: 'start', timer: 'minute', ms: minuteMs }] : [];
  return withEffectsFirst(minute, handle(message));
}

const endLost = (session: Session): Step =>
  end(session, closing.restart, 'Reconnect and bind again; get missed events with $events');

function onTimer(session: Session, timer: Timer): Step {
  const [kind = '', id = ''] = timer.split(' ');
  const handlers: Readonly<Record<string, () => Step>> = {
    idle: () => endIfIdle(session),
    minute: () => stepOf({ ...session, messages: 0 }),
    silence: () => endLost(session),
    gap: () => tellInOrder(session, id, released),
    end: () => endBinding(session, id),
    bind: () =>
      session.link === 'open'
        ? withEffectsFirst(
            [refuse('The token is invalid or has expired: get a new one with $get-ws-binding-token.')],
            endBinding(session, id),
          )
        : endLost(session),
  };
  return handlers[kind]?.() ?? stepOf(session);
}

/**
 * Decides the actions after an event. With the first token the session connects to Medplum. It passes tokens on, and
 * Medplum's notifications back.
 */
export function step(session: Session, event: SessionEvent, now: number, limits: SessionLimits): Step {
  if (session.isOver) {
    // A claim that is answered after the end of the session is released.
    return event.kind === 'claimed' ? stepOf(session, { kind: 'release', id: event.binding.id }) : stepOf(session);
  }
  switch (event.kind) {
    case 'opened':
      return stepOf(session, { kind: 'start', timer: 'idle', ms: limits.bindMs });
    case 'said':
      return onClientMessage(session, event.message);
    case 'claimed':
      return onClaimed(session, event.binding, limits);
    case 'taken':
      return stepOf(session, refuse('A token binds one websocket once: get another with $get-ws-binding-token.'));
    case 'full':
      return end(session, closing.tryLater, 'Too many websockets are bound: try again later');
    case 'medplum-open':
      return stepOf(
        { ...session, link: 'open', unsaid: [] },
        ...session.unsaid.map((text) => ({ kind: 'say', text }) as const),
      );
    case 'medplum-said':
      return onMedplumMessage(session, event.message, now);
    case 'medplum-lost':
      return endLost(session);
    case 'timer':
      return onTimer(session, event.timer);
    case 'unread':
      return end(session, closing.policy, 'Too many unread messages: get the rest with $events');
    case 'failed':
      return end(session, closing.failure, 'Internal error; reconnect and bind again');
    case 'gone':
      return end(session, closing.goingAway, '');
  }
}
