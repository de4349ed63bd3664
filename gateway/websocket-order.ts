import type { Bundle } from '@medplum/fhirtypes';
import { isResource } from '../fhir/resource.ts';

/** What of a Subscription's notifications was told, and what waits for those before it. */
export interface Order {
  /** Number of the last event that was told. */
  readonly last: number;
  readonly waiting: ReadonlyMap<number, Bundle>;
}

/** The numbers that a notification names: of all events so far, and of its own event, if it is one. */
function numbersIn(bundle: Bundle): { readonly events?: number; readonly event?: number } {
  const status: unknown = bundle.entry?.[0]?.resource;
  const told = isResource(status, 'Parameters') ? (status.parameter ?? []) : [];
  const events = told.find(({ name }) => name === 'events-since-subscription-start')?.valueString;
  const parts = told.find(({ name }) => name === 'notification-event')?.part ?? [];
  const event = parts.find(({ name }) => name === 'event-number')?.valueString;
  return { ...(events && { events: Number(events) }), ...(event && { event: Number(event) }) };
}

/** The order after a handshake: what happened before is known of. */
export function orderAfter(handshake: Bundle): Order {
  return { last: numbersIn(handshake).events ?? 0, waiting: new Map() };
}

/** Takes out what can be told: the events that follow the last one without a gap. */
function tellable({ last, waiting }: Order): { readonly order: Order; readonly told: readonly Bundle[] } {
  const told: Bundle[] = [];
  for (let next = waiting.get(last + 1); next; next = waiting.get(last + told.length + 1)) {
    told.push(next);
  }
  const reached = last + told.length;
  return { order: { last: reached, waiting: new Map([...waiting].filter(([number]) => number > reached)) }, told };
}

/**
 * Puts a notification into the order of the numbers: Medplum does not promise to tell messages in the order in which they
 * were written. What is no event, or comes again, is told at once.
 *
 * @returns what is to be told now; what is still `waiting` is to be told by `released` when it has waited long enough
 */
export function arrived(order: Order, bundle: Bundle): { readonly order: Order; readonly told: readonly Bundle[] } {
  const { event } = numbersIn(bundle);
  if (event === undefined || event <= order.last) {
    return { order, told: [bundle] };
  }
  return tellable({ ...order, waiting: new Map([...order.waiting, [event, bundle]]) });
}

/** Tells what waits although something before it has not come: the client sees the gap and asks `$events`. */
export function released({ last, waiting }: Order): { readonly order: Order; readonly told: readonly Bundle[] } {
  const numbers = [...waiting.keys()].sort((one, other) => one - other);
  const told = numbers.flatMap((number) => waiting.get(number) ?? []);
  return { order: { last: Math.max(last, ...numbers), waiting: new Map() }, told };
}
