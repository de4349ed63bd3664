import type { Bundle, ParametersParameter } from '@medplum/fhirtypes';
import { isResource } from '../resource.ts';
import type { Operation } from './history.ts';

/** An event of a notification: its number in the Subscription, and a reference to its subject. */
export interface NotifiedEvent {
  readonly number: number;
  readonly about: string;
  readonly timestamp: string;
}

/** Minimum and maximum of events about an appointment. */
export interface Due {
  readonly least: number;
  readonly most: number;
}

const isTo = (reference: string | undefined, thing: string): boolean =>
  reference === thing || reference?.endsWith(`/${thing}`) === true;

const named = (parts: readonly ParametersParameter[] | undefined, name: string): ParametersParameter | undefined =>
  parts?.find((parameter) => parameter.name === name);

function stateIn(bundle: Bundle): readonly ParametersParameter[] {
  const first = bundle.entry?.[0]?.resource;
  return isResource(first, 'Parameters') ? (first.parameter ?? []) : [];
}

const isFor = (bundle: Bundle, subscription: string): boolean =>
  isTo(named(stateIn(bundle), 'subscription')?.valueReference?.reference, subscription);

/** Whether the endpoint of a Subscription has received its handshake. */
export const isGreeted = (received: readonly Bundle[], subscription: string): boolean =>
  received.some((bundle) => isFor(bundle, subscription) && named(stateIn(bundle), 'type')?.valueCode === 'handshake');

/** Whether a notification contains events. */
export const hasEvents = (notification: Bundle): boolean =>
  stateIn(notification).some(({ name }) => name === 'notification-event');

/** The events of a Subscription in the order of arrival; `about` is `Type/id`. */
export const eventsOf = (received: readonly Bundle[], subscription: string): readonly NotifiedEvent[] =>
  received
    .filter((bundle) => isFor(bundle, subscription))
    .flatMap((bundle) => stateIn(bundle).filter(({ name }) => name === 'notification-event'))
    .map(({ part }) => ({
      number: Number(named(part, 'event-number')?.valueString),
      about: (named(part, 'focus')?.valueReference?.reference ?? '').split('/').slice(-2).join('/'),
      timestamp: named(part, 'timestamp')?.valueInstant ?? '',
    }));

/**
 * Required number of events about a subscriber's appointment: changes by others, not its own. If both changed it
 * concurrently, an event is optional.
 *
 * @param own - operations on the appointment, including those of the server
 */
export function dueFor(name: string, own: readonly Operation[], isOther: (operation: Operation) => boolean): Due {
  const byOthers = own.filter((operation) => operation.frees === name && isOther(operation));
  const isSure =
    byOthers.some(({ outcome }) => outcome === 'done') &&
    own.every((operation) => !operation.frees || isOther(operation));
  return { least: isSure ? 1 : 0, most: byOthers.length };
}

/** The name of an appointment with too few events. */
export const missingIn = (events: readonly NotifiedEvent[], due: ReadonlyMap<string, Due>): string | undefined =>
  [...due].find(([name, { least }]) => events.filter(({ about }) => about === name).length < least)?.[0];

interface Wrong {
  readonly says: string;
  readonly about: string;
}

/**
 * Finds the first event out of order, repeated, or without a change.
 *
 * @param mayRepeat - whether the server was restarted and may repeat events
 */
export function wrongIn(
  events: readonly NotifiedEvent[],
  due: ReadonlyMap<string, Due>,
  mayRepeat: boolean,
): Wrong | undefined {
  let last = 0;
  const seen = new Map<string, { readonly times: number; readonly timestamp: string }>();
  for (const { number, about, timestamp } of events) {
    if (mayRepeat && number <= last) {
      continue;
    }
    if (number !== last + 1) {
      const says = number <= last ? `Event ${number} was told twice.` : `Event ${number} was told after event ${last}.`;
      return { says, about };
    }
    last = number;
    const before = seen.get(about);
    if (before && before.timestamp > timestamp) {
      return { says: `Event ${number} about ${about} was told after a later one.`, about };
    }
    const times = (before?.times ?? 0) + 1;
    seen.set(about, { times, timestamp });
    const { most } = due.get(about) ?? { most: times };
    if (times > most) {
      return { says: `${about} was told ${times} times, and others have changed it ${most} times.`, about };
    }
  }
  return undefined;
}
