import type { Bundle } from '@medplum/fhirtypes';
import { isObject } from '../../core/fhir/resource.ts';

/** The notifications of a Subscription that were sent, and those that wait for earlier ones. */
export interface Order {
  /** Number of the last event that was sent. */
  readonly last: number;
  readonly waiting: ReadonlyMap<number, Bundle>;
}

/** The numbers in a notification: how many events there were, and that of the event that it notifies of, if any. */
function numbersIn(bundle: Bundle): { readonly events: number | undefined; readonly event: number | undefined } {
  const [status] = listOf(bundle.entry);
  const parameters = isObject(status?.resource) ? listOf(status.resource.parameter) : [];
  const [event] = named('notification-event', parameters).flatMap(({ part }) => named('event-number', listOf(part)));
  return { events: numberOf(named('events-since-subscription-start', parameters)[0]), event: numberOf(event) };
}

type Element = Readonly<Record<string, unknown>>;

/** The elements of a list; any other value has none. */
const listOf = (value: unknown): Element[] => (Array.isArray(value) ? value.filter(isObject) : []);

const named = (name: string, parameters: readonly Element[]): Element[] =>
  parameters.filter((parameter) => parameter.name === name);

function numberOf(parameter: Element | undefined): number | undefined {
  const text = parameter?.valueString;
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The order after a handshake: events before it count as sent. */
export function orderAfter(handshake: Bundle): Order {
  return { last: numbersIn(handshake).events ?? 0, waiting: new Map() };
}

/** Separates the waiting events that can be sent: those that follow the last one sent without a gap. */
function notifiable({ last, waiting }: Order): { readonly order: Order; readonly notified: readonly Bundle[] } {
  const notified: Bundle[] = [];
  for (let next = waiting.get(last + 1); next; next = waiting.get(last + notified.length + 1)) {
    notified.push(next);
  }
  const reached = last + notified.length;
  return {
    order: { last: reached, waiting: new Map([...waiting].filter(([number]) => number > reached)) },
    notified,
  };
}

/**
 * Puts a notification into the order of the numbers: Medplum does not promise to deliver messages in the order in which
 * they were written. Anything else, and a repeated event, is sent immediately.
 *
 * @returns what is to be sent now; what is still `waiting` is to be sent by `released` when it has waited long enough
 */
export function arrived(order: Order, bundle: Bundle): { readonly order: Order; readonly notified: readonly Bundle[] } {
  const { event } = numbersIn(bundle);
  if (event === undefined || event <= order.last) {
    return { order, notified: [bundle] };
  }
  return notifiable({ ...order, waiting: new Map([...order.waiting, [event, bundle]]) });
}

/** Sends the waiting events despite a gap: the client notices it and uses `$events`. */
export function released({ last, waiting }: Order): { readonly order: Order; readonly notified: readonly Bundle[] } {
  const numbers = [...waiting.keys()].sort((a, b) => a - b);
  const notified = numbers.flatMap((number) => waiting.get(number) ?? []);
  return { order: { last: Math.max(last, ...numbers), waiting: new Map() }, notified };
}
