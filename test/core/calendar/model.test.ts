import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { planSlots } from '../../../core/calendar/publish/publish.ts';
import { portions, type SlotChange } from '../../../core/calendar/publish/slot-change.ts';
import { conflicts, withdrawnWith } from '../../../core/calendar/slots/conflicts.ts';
import { isTaken, placedSlots, publishedKeyOf } from '../../../core/calendar/slots/slot-role.ts';
import { subtract, union } from '../../../core/time/interval-set.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { at, config, minutes, scheduleOf, service, slot, stateOf } from './support.ts';

/** What is stored, by id; each Slot carries its version. */
type Store = ReadonlyMap<string, Slot>;

let count = 0;

/** Carries out changes if every Slot has the version that was read, or nothing. */
function commit(store: Store, changes: readonly SlotChange[]): Store | undefined {
  if (changes.some(({ stored }) => stored && store.get(stored.id ?? '')?.meta?.versionId !== stored.meta?.versionId)) {
    return undefined;
  }
  const written = changes.map(({ stored, resource }) => {
    const id = stored?.id ?? `made-${++count}`;
    return [id, { ...resource, id, meta: { ...resource.meta, versionId: `${++count}` } }] as const;
  });
  return new Map([...store, ...written]);
}

const everyQuarter = service([minutes('alignmentInterval', 15)]);
const long = service([minutes('duration', 60), minutes('alignmentInterval', 30)], { id: 'long' });
const later = service([minutes('alignmentInterval', 15)], {
  availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '10:00:00', availableEndTime: '13:00:00' }],
});
const schedule = scheduleOf([everyQuarter, long]);

const byHand = [slot('hand', '09:30', '11:00'), slot('hand-too', '09:30', '10:00')];
const start: Store = new Map(byHand.map((one) => [one.id ?? '', one]));

/** Hand-made Slots that were once free. */
const offered = new Set(byHand.map(({ id }) => id ?? ''));

interface World {
  readonly store: Store;
  readonly services: readonly (typeof everyQuarter)[];
}

function stateIn({ store, services }: World) {
  return stateOf([...store.values()], { schedule, offered }, services);
}

/** Books a free Slot as the service does: it refuses what conflicts, and withdraws what it excludes. */
function book(store: Store, id: string): SlotChange[] | undefined {
  const placed = placedSlots([...store.values()], offered, config);
  const wanted = placed.find((one) => one.id === id);
  if (wanted?.resource.status !== 'free') {
    return undefined;
  }
  const claim = { interval: wanted, slots: [id], services: wanted.resource.serviceType };
  const taken: SlotChange = { stored: wanted.resource, resource: { ...wanted.resource, status: 'busy' }, group: id };
  return conflicts(placed, claim).length > 0 ? undefined : [taken, ...withdrawnWith(placed, claim)];
}

const pick = (slots: readonly Slot[], index: number): Slot | undefined => slots[index % Math.max(slots.length, 1)];

/** Sets the status of a Slot, as staff and appointments do. */
function set(world: World, found: Slot | undefined, status: Slot['status']): World {
  const changes = found ? [{ stored: found, resource: { ...found, status }, group: '' }] : [];
  return { ...world, store: commit(world.store, changes) ?? world.store };
}

function without(store: Store, found: Slot | undefined): Store {
  return new Map([...store].filter(([id]) => id !== found?.id));
}

const ofStatus = ({ store }: World, ...statuses: Slot['status'][]): Slot[] =>
  [...store.values()].filter(({ status }) => statuses.includes(status));

const takingsOf = ({ store }: World): Slot[] => [...store.values()].filter(({ id }) => id?.startsWith('taking'));

const isOffer = (one: Slot): boolean => !one.id?.startsWith('taking');

/** What happens in a clinic. Each takes the world and a number that chooses among what there is. */
const steps: Readonly<Record<string, (world: World, index: number) => World>> = {
  publish: (world) => published(world),
  'publish half, then die': (world, index) => {
    const [first = []] = portions(planSlots(stateIn(world), config).changes, 1 + (index % 20));
    return { ...world, store: commit(world.store, first) ?? world.store };
  },
  book: (world, index) => {
    const changes = book(world.store, pick(ofStatus(world, 'free'), index)?.id ?? '');
    return { ...world, store: (changes && commit(world.store, changes)) ?? world.store };
  },
  cancel: (world, index) => set(world, pick(ofStatus(world, 'busy').filter(isOffer), index), 'free'),
  block: (world, index) => {
    const free = pick(ofStatus(world, 'free'), index);
    return free && book(world.store, free.id ?? '') ? set(world, free, 'busy-unavailable') : world;
  },
  unblock: (world, index) => set(world, pick(ofStatus(world, 'busy-unavailable').filter(isOffer), index), 'free'),
  'take by Medplum’s $book': (world, index) => {
    const from = 9 * 60 + (index % 16) * 15;
    const clock = (time: number): string =>
      `${String(Math.floor(time / 60)).padStart(2, '0')}:${String(time % 60).padStart(2, '0')}`;
    const taking = slot(`taking-${++count}`, clock(from), clock(from + 20), 'busy');
    return { ...world, store: new Map([...world.store, [taking.id ?? '', taking]]) };
  },
  'cancel by Medplum’s $cancel': (world, index) => ({
    ...world,
    store: without(world.store, pick(takingsOf(world), index)),
  }),
  'change the hours': (world) => ({
    ...world,
    services: world.services[0] === everyQuarter ? [later, long] : [everyQuarter, long],
  }),
};

/** The calendar is published piece by piece, in portions. */
const windows = [
  { start: Date.parse(at('00:00')) - 10 * DAY, end: Date.parse(at('10:40')) },
  { start: Date.parse(at('10:40')), end: Date.parse(at('00:00')) + 10 * DAY },
];

function published(world: World): World {
  let { store } = world;
  for (const window of windows) {
    const { changes } = planSlots({ ...stateIn({ ...world, store }), window }, config);
    const touched = changes.filter(({ stored }) => stored && isTaken(stored));
    expect(touched).toEqual([]);
    for (const portion of portions(changes, 5)) {
      store = commit(store, portion) ?? store;
    }
  }
  return { ...world, store };
}

/** What must hold whenever everything has been published. */
function check(world: World): void {
  expect(planSlots(stateIn(world), config).changes).toEqual([]);
  const placed = placedSlots([...world.store.values()], offered, config);
  const live = placed.filter(({ resource }) => resource.status !== 'entered-in-error');
  const free = live.filter(({ resource }) => resource.status === 'free');
  const takings = union(live.filter(({ role }) => role.kind === 'taking'));
  expect(
    free.filter((one) => subtract([one], takings).length !== 1 || subtract([one], takings)[0]?.end !== one.end),
  ).toEqual([]);
  const isPublished = (one: (typeof placed)[number]): boolean => publishedKeyOf(one.resource, config) !== undefined;
  const held = live.filter((one) => isPublished(one) && isTaken(one.resource));
  expect(
    free.filter((one) => isPublished(one) && held.some((other) => one.start < other.end && other.start < one.end)),
  ).toEqual([]);
  const offers = live.filter((one) => one.role.kind === 'offer');
  for (const { id, start: from, end: to } of byHand) {
    const whole = { start: Date.parse(from), end: Date.parse(to) };
    const mine = offers.filter(({ origin }) => origin === id);
    const minutesOf = (intervals: readonly { start: number; end: number }[]): number =>
      intervals.reduce((sum, one) => sum + one.end - one.start, 0);
    expect(minutesOf(mine)).toBe(minutesOf(union(mine)));
    const open = subtract([whole], takings);
    expect(subtract(open, union(mine))).toEqual([]);
  }
}

describe('a clinic in which everything happens', () => {
  it('publishes what is open and not taken, once, and leaves alone what is held', () => {
    const happening = fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.nat(1000));
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 25 }), (happenings) => {
        let world: World = { store: start, services: [everyQuarter, long] };
        for (const [name, index] of happenings) {
          world = steps[name]?.(world, index) ?? world;
        }
        check(published(world));
      }),
      { numRuns: 300 },
    );
  });

  it('never books the same time of one place twice, though two have read the same', () => {
    const { store } = published({ store: new Map(), services: [everyQuarter, long] });
    const free = [...store.values()].filter(({ status }) => status === 'free');
    let rivals = 0;
    for (const one of free) {
      for (const other of free.filter(({ id }) => id !== one.id)) {
        const [first, second] = [book(store, one.id ?? ''), book(store, other.id ?? '')];
        const afterFirst = commit(store, first ?? []);
        const again = afterFirst && book(afterFirst, other.id ?? '');
        const afterBoth = afterFirst && (commit(afterFirst, second ?? []) ?? (again && commit(afterFirst, again)));
        const isRival = one.start < other.end && other.start < one.end;
        rivals += isRival ? 1 : 0;
        expect({ one: one.start, other: other.start, both: afterBoth !== undefined }).toEqual({
          one: one.start,
          other: other.start,
          both: !isRival,
        });
      }
    }
    expect(rivals).toBeGreaterThan(20);
    expect(at('09:00')).toBe(free.map(({ start: from }) => from).sort()[0]);
  });

  it('refuses what a taking overlaps before anything was withdrawn', () => {
    const { store } = published({ store: new Map(), services: [everyQuarter, long] });
    const taking = slot('taking', '09:10', '09:20', 'busy');
    const nine = [...store.values()].filter(({ start: from }) => from === at('09:00'));
    const taken = new Map([...store, ['taking', taking]]);
    expect(nine.map(({ id }) => book(taken, id ?? ''))).toEqual([undefined, undefined]);
  });
});
