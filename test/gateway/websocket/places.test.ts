import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createWebsocketPlaces } from '../../../gateway/websocket/places.ts';

const limits = { websockets: 3, websocketsPerClient: 2, unboundWebsockets: 3, unboundWebsocketsPerAddress: 2 };

describe('places for websockets', () => {
  test('an address has few that wait', () => {
    const places = createWebsocketPlaces<string>(limits);
    expect([places.enter('1', 'a'), places.enter('2', 'a'), places.enter('3', 'a')]).toEqual([
      { displaced: undefined },
      { displaced: undefined },
      undefined,
    ]);
  });

  test('when too many wait, the first of the address with most of them makes room', () => {
    const places = createWebsocketPlaces<string>(limits);
    places.enter('1', 'a');
    places.enter('2', 'b');
    places.enter('3', 'b');
    expect(places.enter('4', 'c')).toEqual({ displaced: '2' });
    expect(places.unbound()).toBe(3);
  });

  test('a place that is left is free for one more of the address', () => {
    const places = createWebsocketPlaces<string>(limits);
    places.enter('1', 'a');
    places.enter('2', 'a');
    places.leave('1');
    expect([places.enter('3', 'a'), places.enter('4', 'a'), places.unbound()]).toEqual([
      { displaced: undefined },
      undefined,
      2,
    ]);
    for (const socket of ['2', '3', 'unknown']) {
      places.leave(socket);
    }
    expect([places.enter('5', 'a'), places.unbound()]).toEqual([{ displaced: undefined }, 1]);
  });

  test('a client has so many that are bound, another one its own', () => {
    const places = createWebsocketPlaces<string>(limits);
    expect(['1', '2', '3'].map((socket) => places.bind(socket, 'A'))).toEqual([true, true, false]);
    expect([places.bind('4', 'B'), places.bind('5', 'C'), places.bound()]).toEqual([true, false, 3]);
    places.leave('1');
    expect([places.bind('3', 'A'), places.bound()]).toEqual([true, 3]);
  });

  test('those that wait take no place of those that are bound', () => {
    const places = createWebsocketPlaces<string>({ ...limits, websockets: 1 });
    places.enter('1', 'a');
    places.enter('2', 'b');
    expect([places.bind('1', 'A'), places.bind('1', 'A'), places.bind('2', 'B')]).toEqual([true, true, false]);
    places.leave('1');
    expect([places.bind('2', 'B'), places.bound(), places.unbound()]).toEqual([true, 1, 0]);
  });

  test('no limit is ever exceeded, and all places come back', () => {
    const action = fc.tuple(fc.constantFrom('enter', 'bind', 'leave'), fc.nat(9), fc.constantFrom('a', 'b', 'c'));
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        const places = createWebsocketPlaces<number>(limits);
        for (const [what, socket, name] of actions) {
          if (what === 'enter') {
            places.leave(socket);
            places.enter(socket, name);
          } else {
            places[what](socket, name);
          }
          expect(places.bound()).toBeLessThanOrEqual(limits.websockets);
          expect(places.unbound()).toBeLessThanOrEqual(limits.unboundWebsockets);
        }
        for (let socket = 0; socket <= 9; socket++) {
          places.leave(socket);
        }
        expect([places.bound(), places.unbound()]).toEqual([0, 0]);
      }),
    );
  });
});
