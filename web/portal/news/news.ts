import { type BookingService, isRefusal } from '../fhir/client.ts';
import { type Changes, createChanges } from './changes.ts';
import { createHearing, type Hearing } from './hearing.ts';
import { notificationIn } from './notification.ts';
import { type SubscriptionOptions, subscribe } from './subscription.ts';

/** What the portal hears of changes at the clinic. */
export interface News extends Pick<Changes, 'note' | 'hasChanged'>, Pick<Hearing, 'isComplete'> {
  /** Takes a notification; `false` if it is none. */
  readonly take: (body: unknown) => boolean;
  /** Sees to it that notifications come. Called whenever a page waits for news; does not wait itself. */
  readonly keepComing: () => void;
}

/** The least time before the portal tries to subscribe again, in milliseconds. */
const RETRY = 300_000;

/**
 * The portal as a subscriber of the clinic's service: it subscribes when a page waits for news for the first time, and again
 * when notifications stay away.
 *
 * @param warn - called with the reason why there are none
 */
export function createNews(
  service: BookingService,
  options: SubscriptionOptions,
  now: () => number,
  warn: (problem: string) => void,
): News {
  const changes = createChanges(now);
  const hearing = createHearing(changes, now);
  let triedAt = Number.NEGATIVE_INFINITY;
  async function tryToSubscribe(): Promise<void> {
    const answer = await subscribe(service, options);
    if (isRefusal(answer)) {
      const codes = answer.problems.flatMap(({ code }) => code ?? []).join(', ');
      warn(
        `The booking service sends no notifications to ${options.endpoint} (status ${answer.status}${codes && `, ${codes}`}): ` +
          'open pages ask it themselves, at most every 30 seconds. Set an address that it can reach and may send to.',
      );
    }
  }
  return {
    note: changes.note,
    hasChanged: changes.hasChanged,
    isComplete: hearing.isComplete,
    take(body) {
      const notification = notificationIn(body);
      if (notification) {
        hearing.take(notification);
      }
      return notification !== undefined;
    },
    keepComing() {
      if (!hearing.isHeard() && now() - triedAt > RETRY) {
        triedAt = now();
        tryToSubscribe().catch((error: unknown) => warn(String(error)));
      }
    },
  };
}
