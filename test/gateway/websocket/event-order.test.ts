import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { arrived, type Order, orderAfter, released } from '../../../gateway/websocket/event-order.ts';

const parameters = (parameter: object[]): Bundle =>
  JSON.parse(
    JSON.stringify({ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Parameters', parameter } }] }),
  );
const handshake = (events: number) =>
  parameters([{ name: 'events-since-subscription-start', valueString: String(events) }]);
const event = (number: number) =>
  parameters([{ name: 'notification-event', part: [{ name: 'event-number', valueString: String(number) }] }]);
const numberOf = (bundle: Bundle) => Number(/"valueString":"(\d+)"/.exec(JSON.stringify(bundle))?.[1]);

/** The numbers that are told when the events arrive in this order. */
function told(order: Order, numbers: readonly number[]): { readonly numbers: number[]; readonly order: Order } {
  const all: number[] = [];
  let current = order;
  for (const number of numbers) {
    const next = arrived(current, event(number));
    all.push(...next.told.map(numberOf));
    current = next.order;
  }
  return { numbers: all, order: current };
}

describe('the order of notifications', () => {
  test.each<[number[], number[]]>([
    [
      [4, 5, 6],
      [4, 5, 6],
    ],
    [
      [5, 4, 6],
      [4, 5, 6],
    ],
    [
      [6, 5, 4],
      [4, 5, 6],
    ],
    [[5, 6], []],
    [
      [4, 4, 2],
      [4, 4, 2],
    ],
  ])('after three events, %j arrive: %j are told', (arriving, expected) => {
    expect(told(orderAfter(handshake(3)), arriving).numbers).toEqual(expected);
  });

  test('an event that waits too long is sent in its order, and the next one follows', () => {
    const { order } = told(orderAfter(handshake(0)), [3, 2]);
    const late = released(order);
    expect(late.told.map(numberOf)).toEqual([2, 3]);
    expect(told(late.order, [4]).numbers).toEqual([4]);
  });

  test('what is no event is told at once', () => {
    expect(arrived(orderAfter(handshake(0)), handshake(0)).told).toEqual([handshake(0)]);
  });

  test('nothing waits any more once it was sent', () => {
    const { order } = told(orderAfter(handshake(0)), [5, 2, 1]);
    expect([order.last, [...order.waiting.keys()]]).toEqual([2, [5]]);
    expect(released(order).order).toEqual({ last: 5, waiting: new Map() });
    expect(released(orderAfter(handshake(7)))).toEqual({ order: { last: 7, waiting: new Map() }, told: [] });
  });

  const odd = (...entry: unknown[]): Bundle => JSON.parse(JSON.stringify({ resourceType: 'Bundle', entry }));
  const eventOf = (valueString: unknown): Bundle =>
    parameters([{ name: 'notification-event', part: [{ name: 'event-number', valueString }] }]);

  test.each<[string, Bundle]>([
    ['no entries', JSON.parse('{"resourceType":"Bundle"}')],
    ['entries that are no list', JSON.parse('{"resourceType":"Bundle","entry":{}}')],
    ['an entry that is nothing', odd(null)],
    ['an entry without a resource', odd({})],
    ['parameters that are nothing', odd({ resource: { parameter: [null, 5] } })],
    ['parameters that are no list', odd({ resource: { parameter: 'x' } })],
    ['an event without parts', parameters([{ name: 'notification-event' }])],
    ['an event without a number', parameters([{ name: 'notification-event', part: [null, { name: 'timestamp' }] }])],
    ['another parameter', parameters([{ name: 'x', part: [{ name: 'event-number', valueString: '2' }] }])],
    ['another part', parameters([{ name: 'notification-event', part: [{ name: 'x', valueString: '2' }] }])],
    ['a number in words', eventOf('two')],
    ['a number and more', eventOf('2x')],
    ['more and a number', eventOf('x2')],
    ['a number that is no text', eventOf(2)],
    ['a number that is too large', eventOf('1234567890123456')],
  ])('with %s no event is told, and it is told at once', (_, bundle) => {
    const order = orderAfter(handshake(0));
    expect(arrived(order, bundle)).toEqual({ order, told: [bundle] });
  });

  test('a handshake without a number is that of a new Subscription', () => {
    expect(orderAfter(parameters([{ name: 'other', valueString: '3' }]))).toEqual({ last: 0, waiting: new Map() });
  });

  test('the largest number has fifteen digits', () => {
    expect(orderAfter(handshake(123456789012345)).last).toBe(123456789012345);
  });

  test('all are sent once, in the order of their numbers, whatever the order of arrival', () => {
    const arrivals = fc.integer({ min: 0, max: 12 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, index) => index + 1),
        { minLength: count },
      ),
    );
    fc.assert(
      fc.property(arrivals, (numbers) => {
        const sorted = [...numbers].sort((one, other) => one - other);
        expect(told(orderAfter(handshake(0)), numbers).numbers).toEqual(sorted);
      }),
    );
  });
});
