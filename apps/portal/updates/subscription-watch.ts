import type { Changes } from './changes.ts';
import type { Notification } from './notification.ts';

/** Takes notifications in, and knows whether they come. */
export interface SubscriptionWatch {
  readonly take: (notification: Notification) => void;
  /** Whether notifications have come lately: handshakes and heartbeats count. */
  readonly isHeard: () => boolean;
  /** Whether all of them come here, so that pages need not ask the service. */
  readonly isComplete: () => boolean;
}

/** After how many seconds without a notification the service sends a heartbeat. It checks that once a minute. */
export const HEARTBEAT = 60;

/** After how long without any notification no more are expected, in milliseconds. */
const SILENCE = (2 * HEARTBEAT + 80) * 1_000;

/** For how long notifications are not relied on after one was missed, in milliseconds. */
const DOUBT = 600_000;

/** For how many Subscriptions numbers are remembered: the portal itself has fewer. */
const MOST = 20;

/**
 * Follows the numbers of the events. Where several servers share the address to which notifications go, each of them gets
 * only a part: the numbers show that, and the pages of such a server ask the service again.
 */
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
      // With a handshake, notifications begin or begin again: no notification tells of what happened before it.
      if (isMissed || type === 'handshake') {
        changes.noteAny();
      }
      numbers.delete(subscription);
      numbers.set(subscription, Math.max(last ?? 0, number));
      const [oldest] = numbers.keys();
      if (numbers.size > MOST && oldest !== undefined) {
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
