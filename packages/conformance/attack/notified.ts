import type { Bundle, ParametersParameter } from '@medplum/fhirtypes';
import { isResource } from '../resource.ts';
import type { Operation } from './history.ts';

/** An event of a notification: its number in its Subscription, and what it is about. */
export interface NotifiedEvent {
  readonly number: number;
  readonly about: string;
  readonly timestamp: string;
}

/** How often at least and at most somebody is told of an appointment. */
export interface Due {
  readonly least: number;
  readonly most: number;
}

const isTo = (reference: string | undefined, thing: string): boolean =>
  reference === thing || reference?.endsWith(`/${thing}`) === true;

const named = (parts: readonly ParametersParameter[] | undefined, name: string): ParametersParameter | undefined =>
  parts?.find((parameter) => parameter.name === name);

/** The state of a Subscription that a notification begins with. */
function stateIn(bundle: Bundle): readonly ParametersParameter[] {
  const first = bundle.entry?.[0]?.resource;
  return isResource(first, 'Parameters') ? (first.parameter ?? []) : [];
}

const isFor = (bundle: Bundle, subscription: string): boolean =>
  isTo(named(stateIn(bundle), 'subscription')?.valueReference?.reference, subscription);

/** Whether the endpoint of a Subscription was greeted. */
export const isGreeted = (received: readonly Bundle[], subscription: string): boolean =>
  received.some((bundle) => isFor(bundle, subscription) && named(stateIn(bundle), 'type')?.valueCode === 'handshake');

/** Whether a notification tells of events. */
export const hasEvents = (notification: Bundle): boolean =>
  stateIn(notification).some(({ name }) => name === 'notification-event');

/** The events that a Subscription was told, in the order in which they came; of a reference the type and the id. */
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
 * How often the subscriber must be told of its appointment, and may: of what others have done to it. What it has done
 * itself it knows; where both were at it, either may have been first.
 *
 * @param own - what was done to the appointment, with what the server says that it did itself
 */
export function dueFor(name: string, own: readonly Operation[], isOther: (operation: Operation) => boolean): Due {
  const byOthers = own.filter((operation) => operation.frees === name && isOther(operation));
  const isSure =
    byOthers.some(({ outcome }) => outcome === 'done') &&
    own.every((operation) => !operation.frees || isOther(operation));
  return { least: isSure ? 1 : 0, most: byOthers.length };
}

/** Of what somebody must have been told, and was not. */
export const missingIn = (events: readonly NotifiedEvent[], due: ReadonlyMap<string, Due>): string | undefined =>
  [...due].find(([name, { least }]) => events.filter(({ about }) => about === name).length < least)?.[0];

/** What is wrong with the events that somebody was told. */
interface Wrong {
  readonly says: string;
  /** The appointment that it is about. */
  readonly about: string;
}

/**
 * Finds the first event that was told out of turn, twice, or of nothing.
 *
 * @param mayRepeat - the server was ended meanwhile: it may not know what it has told
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
