import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { checkConsistency } from '../../../core/booking/consistency/check.ts';
import { type ResourceSet, resourcesOfType } from '../../../core/booking/resource-set.ts';
import { slotIdsOf } from '../../../core/slots/slot.ts';
import { commit, type Decision, decide, minutesOf, type Wish } from './model.ts';
import { appointment, at, config, now, patient, schedule, slot, stateOf } from './support.ts';

const wish = (
  id: string,
  start: string,
  end: string,
  slots: readonly string[],
  more: Partial<Appointment> = {},
): Wish => ({
  book: appointment({
    identifier: [{ system: 'urn:portal', value: id }],
    start: at(start),
    end: at(end),
    slot: slots.map((one) => ({ reference: `Slot/${one}` })),
    ...more,
  }),
});

const replacing = ({ book }: { book: unknown }): Wish => ({
  book: {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: book },
      { name: 'cancelled-appt-id', valueUri: 'Appointment/old' },
    ],
  },
});

const replacement = wish('replace', '09:20', '09:50', ['long']);

/** What clients may want of a long slot (9 to 10), a short one (10 to 10:30) and the appointment `old` on 11 to 11:30. */
const wishes: Readonly<Record<string, Wish>> = {
  'book the beginning': wish('beginning', '09:00', '09:20', ['long']),
  'book the middle': wish('middle', '09:20', '09:40', ['long']),
  'book across both': wish('across', '09:10', '09:30', ['long']),
  'book the rest and the short slot': wish('two', '09:40', '10:30', ['long', 'short']),
  'book the short slot': wish('short', '10:00', '10:30', ['short']),
  'book where old is': wish('there', '11:00', '11:30', ['eleven']),
  'move old': wish('old', '09:00', '09:30', ['long'], { id: 'old' }),
  'shorten old': wish('old', '11:10', '11:20', ['eleven'], { id: 'old' }),
  'replace old': 'book' in replacement ? replacing(replacement) : replacement,
  'cancel old': { cancel: 'old' },
};

function clinic(): ResourceSet {
  const free = stateOf(
    schedule,
    patient,
    slot('long', '09:00', '10:00'),
    slot('short', '10:00', '10:30'),
    slot('eleven', '11:00', '11:30'),
  );
  const decision = decide(free, wish('old', '11:00', '11:30', ['eleven']));
  const booked = 'write' in decision ? commit(free, decision.write) : undefined;
  const [made] = booked ? resourcesOfType(booked, 'Appointment') : [];
  if (!booked || !made) {
    throw new Error('The clinic cannot be made.');
  }
  const others = [...booked].filter(([, { resourceType }]) => resourceType !== 'Appointment');
  return new Map([...others, ['Appointment/old', { ...made, id: 'old' }]]);
}

const start = clinic();
const minutes = minutesOf(start);

function check(store: ResourceSet): void {
  expect(checkConsistency(store, { now, config, bots: new Set() })).toEqual([]);
  expect(minutesOf(store)).toBe(minutes);
  const taken = resourcesOfType(store, 'Slot').filter(({ status }) => status === 'busy').length;
  const held = resourcesOfType(store, 'Appointment')
    .filter(({ status }) => status === 'booked')
    .flatMap(slotIdsOf).length;
  expect(taken).toBe(held);
  const open = resourcesOfType(store, 'Appointment').filter(({ status }) => status === 'booked');
  expect(new Set(open.map(({ identifier }) => identifier?.[0]?.value)).size).toBe(open.length);
}

/** A client at work: what it wants, what it has decided and not written yet, how often it may still crash. */
interface Client {
  readonly wish: Wish;
  readonly decision?: Decision | undefined;
  readonly crashes: number;
  readonly isDone?: boolean;
}

interface World {
  readonly store: ResourceSet;
  readonly clients: readonly Client[];
}

/** The same worlds are reached in many orders: what comes of a store is worked out once. */
const results = new WeakMap<ResourceSet, Map<unknown, unknown>>();
function once<Key extends object, Result>(work: (store: ResourceSet, key: Key) => Result) {
  return (store: ResourceSet, key: Key): Result => {
    const known = results.get(store) ?? new Map<unknown, unknown>();
    results.set(store, known);
    known.set(key, known.has(key) ? known.get(key) : work(store, key));
    return known.get(key) as Result;
  };
}

const decided = once(decide);

const committed = once((store, transaction: Bundle) => {
  const written = commit(store, transaction);
  if (written) {
    check(written);
  }
  return written;
});

/** Whether a wish makes an appointment: who repeats it after a lost answer must be told of that one. */
const isNewBooking = (wanted: Wish): boolean => 'book' in wanted && !JSON.stringify(wanted.book).includes('"id":"old"');

/** The worlds that one more step of a client can lead to: it reads and decides, or writes, or crashes instead of writing. */
function steps({ store, clients }: World, index: number): World[] {
  const client = clients[index];
  if (!client || client.isDone) {
    return [];
  }
  const become = (changed: Partial<Client>, next = store): World => ({
    store: next,
    clients: clients.map((one, position) => (position === index ? { ...client, ...changed } : one)),
  });
  const { decision, crashes } = client;
  if (!decision) {
    return [become({ decision: decided(store, client.wish) })];
  }
  if ('end' in decision) {
    return [become({ isDone: true })];
  }
  const crashed = crashes > 0 ? [become({ decision: undefined, crashes: crashes - 1 })] : [];
  const written = committed(store, decision.write);
  if (!written) {
    return [become({ decision: undefined }), ...crashed];
  }
  if (isNewBooking(client.wish)) {
    expect(decided(written, client.wish)).toEqual({ end: 'existing' });
  }
  const unaware = crashes > 0 ? [become({ decision: undefined, crashes: crashes - 1 }, written)] : [];
  return [become({ isDone: true }, written), ...crashed, ...unaware];
}

/** Goes through all worlds that can come of one, and gives how many ends there are. */
function explore(world: World): number {
  const next = world.clients.flatMap((_, index) => steps(world, index));
  if (next.length === 0) {
    check(world.store);
    return 1;
  }
  return next.reduce((sum, one) => sum + explore(one), 0);
}

const names = Object.keys(wishes);
const pairs = names.flatMap((one, index) => names.slice(index).map((other) => [one, other] as const));
const clientFor = (name: string, crashes: number): Client => ({ wish: wishes[name] ?? { cancel: 'none' }, crashes });

describe('every order of the reads and writes of clients', () => {
  it.each(pairs)('%s / %s, one of them may crash before or after its write', (one, other) => {
    expect(explore({ store: start, clients: [clientFor(one, 1), clientFor(other, 0)] })).toBeGreaterThan(1);
    expect(explore({ store: start, clients: [clientFor(one, 0), clientFor(other, 1)] })).toBeGreaterThan(1);
  });

  it.each([
    ['book the beginning', 'book the middle', 'book the rest and the short slot'],
    ['move old', 'replace old', 'cancel old'],
    ['move old', 'book where old is', 'book across both'],
    ['shorten old', 'book where old is', 'cancel old'],
  ])('%s / %s / %s', (...three) => {
    expect(explore({ store: start, clients: three.map((name) => clientFor(name, 0)) })).toBeGreaterThan(6);
  });
});

it('any sequence of wishes of three clients, step by step', () => {
  const step = fc.record({ client: fc.nat(2), wish: fc.constantFrom(...names), choice: fc.nat(2) });
  const play = (sequence: readonly { client: number; wish: string; choice: number }[]): void => {
    let world: World = {
      store: start,
      clients: Array.from({ length: 3 }, () => ({ wish: { cancel: 'none' }, crashes: 0, isDone: true })),
    };
    for (const { client, wish: name, choice } of sequence) {
      const isIdle = world.clients[client]?.isDone;
      const clients = world.clients.map((one, index) => (index === client && isIdle ? clientFor(name, 1) : one));
      const next = steps({ ...world, clients }, client);
      world = next[choice % next.length] ?? world;
    }
    check(world.store);
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), play), { numRuns: 300 });
});
