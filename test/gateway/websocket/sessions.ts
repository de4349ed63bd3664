import type { Binding } from '../../../gateway/websocket/binding-token.ts';
import {
  newSession,
  type Session,
  type SessionEffect,
  type SessionEvent,
  step,
} from '../../../gateway/websocket/session.ts';

/** Time limits of a session. */
export const limits = { bindMs: 10_000, upstreamTimeoutMs: 15_000 };
/** The time of all that happens to a session. */
export const now = Date.parse('2027-01-01T00:00:00Z');

/** A binding with this id, which ends after an hour. */
export const binding = (id: string, client = 'ClientApplication/a'): Binding => ({
  id,
  token: `token-of-${id}`,
  expiration: '2027-01-01T01:00:00Z',
  client,
  handshake: { resourceType: 'Bundle', type: 'history', id: `handshake-${id}` },
});
/** The client sends the token of a binding. */
export const bind = (id: string): SessionEvent => ({ kind: 'said', message: { kind: 'bind', binding: binding(id) } });
/** The token of a binding is claimed for the session. */
export const claimed = (id: string): SessionEvent => ({ kind: 'claimed', binding: binding(id) });
/** Medplum has accepted the token of a binding. */
export const accepted = (id: string): SessionEvent => ({ kind: 'medplum-said', message: { kind: 'bound', id } });

/** What comes of several events, one after the other. */
export function sequence(...events: readonly SessionEvent[]): { session: Session; effects: readonly SessionEffect[] } {
  let session = newSession;
  const effects: SessionEffect[] = [];
  for (const event of events) {
    const next = step(session, event, now, limits);
    session = next.session;
    effects.push(...next.effects);
  }
  return { session, effects };
}
