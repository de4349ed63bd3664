import type { Changes } from './changes.ts';
import type { Notification } from './notification.ts';

/** Receives notifications and detects missed ones. */
export interface SubscriptionWatch {
  readonly take: (notification: Notification) => void;
  /** Whether a notification was received recently; handshakes and heartbeats count. */
  readonly isHeard: () => boolean;
  /** Whether this server receives all notifications, so that pages need not call the service. */
  readonly isComplete: () => boolean;
}

/** The service sends a heartbeat after so many seconds without a notification, which it checks once a minute. */
export const HEARTBEAT = 60;

/** The subscription is considered broken after this time without a notification, in milliseconds. */
const SILENCE = (2 * HEARTBEAT + 80) * 1_000;

/** Time after a missed notification in which the others are not relied on, in milliseconds. */
const DOUBT = 600_000;

/** Maximum of Subscriptions whose event numbers are kept; the portal has fewer. */
const MAX = 20;

/** Follows the event numbers: a gap shows that another server behind the endpoint received a notification. */
export function createSubscriptionWatch(changes: Changes, now: () => number): SubscriptionWatch {
  let heardAt = Number.NEGATIVE_INFINITY;
  let missedAt = Number.NEGATIVE_INFINITY;
  const numbers = new Map<string, number>();
  return {
    take({ subscription, type, first, number, appointments }) {
      heardAt = now();
      const last = type === 'handshake' ? undefined : numbers.get(subscription);
      const expected = type === 'event-notification' ? first - 1 : number;
      const isMissed = last !== undefined && expected > last;
      if (isMissed) {
        missedAt = now();
      }
      // A handshake starts the notifications. Changes before it were not notified.
      if (isMissed || type === 'handshake') {
        changes.noteAny();
      }
      numbers.delete(subscription);
      numbers.set(subscription, Math.max(last ?? 0, number));
      const [oldest] = numbers.keys();
      if (numbers.size > MAX && oldest !== undefined) {
        numbers.delete(oldest);
      }
      for (const appointment of appointments) {
        changes.note(appointment);
      }
    },
    isHeard: () => now() - heardAt < SILENCE,
    isComplete: () => now() - heardAt < SILENCE && now() - missedAt > DOUBT,
  };
}
