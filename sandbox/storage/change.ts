import type { StoredResource } from './store.ts';
import type { Change } from './unit-of-work.ts';

/** The resource that a change is about: what was written, or what was there before it was deleted. */
export function subjectOf({ write, previous }: Change): StoredResource | undefined {
  return write.resource ?? previous?.resource;
}

/** Whether a change is never stored: Medplum keeps Subscriptions over websockets in its cache only. */
export function isCacheOnly(change: Change): boolean {
  const subject = subjectOf(change);
  return subject?.resourceType === 'Subscription' && subject.channel.type === 'websocket';
}
