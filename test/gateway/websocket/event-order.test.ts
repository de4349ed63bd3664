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
