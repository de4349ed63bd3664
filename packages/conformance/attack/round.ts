import type { Bundle } from '@medplum/fhirtypes';
import { nameOf } from '../client.ts';
import { carryOutAct, isFor, type Known, meanings, offersFor, type Playing, pick } from './acts.ts';
import { type Act, acts } from './adapters.ts';
import { bookableItemsIn, instant, inWords, timeOf } from './calendar.ts';
import { type Bounds, type Calendar, checkHistory, type Violation } from './check-history.ts';
import type { Operation } from './history.ts';
import { overlaps } from './history.ts';
import { until } from './network.ts';
import { dueFor, eventsOf, missingIn, wrongIn } from './notified.ts';
import { type Party, perform } from './perform.ts';
import {
  compare,
  excuse,
  hasCrowd,
  heldIn,
  inventoryOf,
  isByStaff,
  isOpen,
  operationsOn,
  resolveUnknown,
  wrongBookableItems,
} from './stored.ts';

interface Stage extends Pick<Playing, 'world' | 'network' | 'ground' | 'portals' | 'staff'> {
  readonly bounds: Bounds;
  /** Per party. */
  readonly acts: number;
  readonly isThorough: boolean;
  readonly disturb?: () => Promise<void>;
  /** The received notifications, and whether the server was restarted since the subscriptions. */
  readonly notifications?: { readonly received: readonly Bundle[]; readonly mayRepeat: boolean };
}

export interface Round {
  readonly operations: number;
  readonly booked: number;
  /** Number of notified events of this round; `undefined` without Subscriptions. */
  readonly notifiedCount: number | undefined;
  /** Counts of responses that claim nothing. */
  readonly ignored: ReadonlyMap<string, number>;
  readonly isUndecided: boolean;
  readonly violations: readonly Violation[];
}

/** A round with its limits and the portal that searches bookable items. */
type Judged = Playing & Pick<Stage, 'bounds' | 'notifications'> & { readonly finder: Party };

const HOT = 0.5;

/** Maximum delay of a notification that was refused before, in milliseconds. */
const TOLD = 60_000;

const findersOf = ({ portals, staff }: Pick<Stage, 'portals' | 'staff'>): readonly Party[] => [
  ...new Map([...staff, ...portals].map((party) => [party.adapter.find, party])).values(),
];

async function begin({ world, network, ground, portals, staff }: Stage): Promise<Playing> {
  const offers: Playing['offers'] = new Map();
  for (const party of findersOf({ portals, staff })) {
    offers.set(party.adapter.find, await bookableItemsIn(party, ground, world));
  }
  const whole = [...offers.values()].flat().map(({ start, end }) => ({ start, end }));
  return {
    ...{ world, network, ground, portals, staff, offers, whole },
    ...{ history: [], known: new Map(), ignored: new Map() },
  };
}

/** A random target: a portal's own, any for staff. Rarely, another request is already ending it. */
const targetFor = ({ known, staff, world }: Playing, party: Party, act: Act): Known | undefined =>
  pick(
    world,
    [...known.values()].filter(
      (one) =>
        (one.act === 'block') === (act === 'unblock') &&
        (one.owner === party || staff.includes(party)) &&
        (!one.isEnding || world.random() < 0.1),
    ),
  );

/** Lets all parties act: independently, in steps, or in races for the same time. */
async function live(playing: Playing, count: number): Promise<void> {
  const { world, ground, portals, staff, offers, known } = playing;
  const hot = pick(world, ground.times);
  const timeByChance = () => (world.random() < HOT ? hot : pick(world, ground.times));

  async function actOnce(party: Party, role: 'portal' | 'staff'): Promise<void> {
    const weighted = acts.flatMap((act) =>
      party.adapter.acts[act] ? Array.from({ length: meanings[act][role] ?? 0 }, () => act) : [],
    );
    const act = pick(world, weighted);
    const { hasTarget, isTaking } = act ? meanings[act] : {};
    const target = act && hasTarget && targetFor(playing, party, act);
    const time = timeByChance();
    if (act && (target || !hasTarget)) {
      await carryOutAct(playing, party, act, isTaking && time, target);
    }
    if (world.random() < 0.15) {
      const fresh = await bookableItemsIn(party, ground, world).catch(() => []);
      const all = [...offersFor(playing, party), ...fresh].map(
        (bookableItem) => [bookableItem.resource.id ?? bookableItem.start, bookableItem] as const,
      );
      offers.set(party.adapter.find, [...new Map(all).values()]);
    }
  }

  /** All parties request the same time at once, each with a random act, and release it. */
  async function race(): Promise<void> {
    const time = timeByChance();
    for (const party of findersOf(playing)) {
      offers.set(party.adapter.find, await bookableItemsIn(party, ground, world).catch(() => []));
    }
    await Promise.all(
      [...portals, ...staff].map((party) => {
        const chosen = pick(
          world,
          acts.filter((act) => meanings[act].isTaking && party.adapter.acts[act]),
        );
        const hasTarget = chosen && meanings[chosen].hasTarget;
        const target = hasTarget && targetFor(playing, party, chosen);
        const act = hasTarget && !target ? 'book' : chosen;
        return act && carryOutAct(playing, party, act, time, target);
      }),
    );
    // Some cancel their own; others are cancelled by staff.
    const open = [...known.values()].filter((one) => !one.isOver && one.time.start === time?.start);
    await Promise.all(
      open.map((one) => one.act !== 'block' && carryOutAct(playing, one.owner, 'read', undefined, one)),
    );
    const [clerk] = staff;
    await Promise.all(
      open.map((one) => {
        const chance = world.random();
        const party = chance < 0.4 ? (clerk ?? one.owner) : one.owner;
        const act = one.act === 'block' ? 'unblock' : 'cancel';
        return chance < 0.8 && carryOutAct(playing, party, act, undefined, one);
      }),
    );
  }

  const everybody = [
    ...portals.map((party) => () => actOnce(party, 'portal')),
    ...staff.map((party) => () => actOnce(party, 'staff')),
  ];
  const pace = world.random();
  const times = Array.from({ length: count });
  if (pace < 1 / 3) {
    for (let done = 0; done < count; done += 2) {
      await race();
    }
  } else if (pace < 2 / 3) {
    for (const _ of times) {
      await Promise.all(everybody.map((actor) => actor()));
    }
  } else {
    const alone = async (actor: () => Promise<void>) => {
      for (const _ of times) {
        await actor();
      }
    };
    await Promise.all(everybody.map(alone));
  }
}

/** The faults of the bookable items that remain after the allowed delay. */
const faultsOfOffers = (playing: Judged): Promise<Violation[]> =>
  until(
    playing.world,
    async () =>
      wrongBookableItems(
        playing,
        await heldIn(playing),
        await bookableItemsIn(playing.finder, playing.ground, playing.world),
      ),
    (wrong) => wrong.length === 0,
    playing.bounds.within,
  );

/** Releases Slots that a client has reserved without booking. */
async function reset(playing: Judged, calendar: Calendar): Promise<void> {
  const { finder, ground } = playing;
  const step = finder.adapter.reset;
  for (const offer of step ? offersFor(playing, finder) : []) {
    if (![...calendar.values()].some(({ time }) => overlaps(time, offer))) {
      const adapter = { ...finder.adapter, acts: { book: step ? [step] : [] } };
      await perform({ ...finder, adapter }, 'book', { data: ground.data, mark: '', offer });
    }
  }
}

async function endAll(playing: Playing): Promise<void> {
  const { known, staff } = playing;
  for (const [name, { party: owner, appointment: thing }] of await inventoryOf(playing)) {
    if (isOpen(thing)) {
      const time = timeOf(thing);
      const offer = offersFor(playing, owner).find(({ start, end }) => start <= time.start && time.end <= end);
      const one = known.get(name) ?? { thing, owner, act: 'book', time, offer, isEnding: false };
      known.set(name, one);
      await carryOutAct(playing, one.owner, 'cancel', undefined, one);
    }
  }
  const [clerk] = staff;
  for (const one of [...known.values()].filter(({ act, isOver }) => clerk && act === 'block' && !isOver)) {
    await carryOutAct(playing, clerk ?? one.owner, 'unblock', undefined, one);
  }
}

const notificationsTo = ({ notifications }: Pick<Stage, 'notifications'>, { subscription }: Party) =>
  subscription && notifications ? eventsOf(notifications.received, nameOf(subscription)) : [];

const countNotified = (stage: Stage): number =>
  stage.portals.reduce((sum, party) => sum + notificationsTo(stage, party).length, 0);

/** Waits for the required notifications, and returns the first fault. */
async function faultsOfNotifications(playing: Judged, mayRepeat: boolean): Promise<Violation[]> {
  const { known, ground, portals, world, bounds } = playing;
  const isOther = (operation: Operation): boolean => operation.actor === 'server' || isByStaff(playing, operation);
  for (const [name, { owner, act }] of known) {
    // Holds are not notified to others.
    if (owner.subscription && act !== 'hold') {
      ground.due.set(name, dueFor(name, operationsOn(playing, name), isOther));
    }
  }
  const look = async () => ({
    wrong: portals.flatMap((party) => wrongIn(notificationsTo(playing, party), ground.due, mayRepeat) ?? []),
    missing: portals.flatMap((party) => {
      const own = [...ground.due].filter(([name]) => known.get(name)?.owner === party);
      const name = missingIn(notificationsTo(playing, party), new Map(own));
      return name ? [{ says: `${party.name} was not told what others did to ${name}.`, about: name }] : [];
    }),
  });
  const { wrong, missing } = await until(
    world,
    look,
    (seen) => seen.wrong.length > 0 || seen.missing.length === 0,
    bounds.told ?? TOLD,
  );
  const [first] = [...wrong, ...missing];
  return first ? [{ rule: 'told', says: first.says, operations: operationsOn(playing, first.about) }] : [];
}

async function tryOffers(playing: Judged): Promise<void> {
  const { world, bounds, ground, offers, finder } = playing;
  await world.wait(bounds.within);
  for (const time of ground.times) {
    offers.set(finder.adapter.find, await bookableItemsIn(finder, ground, world));
    await carryOutAct(playing, finder, 'book', time);
  }
  await endAll(playing);
}

/** Lets a hold expire: its time must be bookable again. */
async function letHoldEnd(playing: Judged): Promise<Violation[]> {
  const { world, bounds, ground, finder } = playing;
  const [found] = offersFor(playing, finder).flatMap((offer) =>
    ground.times.filter((time) => isFor(offer, time, finder)).map((time) => ({ offer, time })),
  );
  if (bounds.holds === undefined || !found || !finder.adapter.acts.hold) {
    return [];
  }
  const { offer, time } = found;
  const about = { data: ground.data, mark: '', offer, start: instant(time.start), end: instant(time.end) };
  const { made } = await perform(finder, 'hold', about);
  await world.wait(bounds.holds);
  const isHeld = async (): Promise<boolean> => {
    const is = made && (await inventoryOf(playing)).get(nameOf(made));
    return is !== undefined && isOpen(is.appointment);
  };
  return made && (await until(world, isHeld, (is) => !is, bounds.within))
    ? [{ rule: 'back', says: `${nameOf(made)} holds ${inWords(time)}, and does not end.`, operations: [] }]
    : faultsOfOffers(playing);
}

/** Compares the stored resources with the responses, and ends all of them. */
async function violationsOf(playing: Judged, isThorough: boolean): Promise<Violation[]> {
  const { bounds, notifications, world } = playing;
  // The server may end a conflicting appointment a moment later.
  const seen = await until(
    world,
    () => inventoryOf(playing),
    (there) => !hasCrowd(playing, there),
    bounds.within,
  );
  await resolveUnknown(playing, seen);
  excuse(playing, seen, bounds);
  const violations = compare(playing, seen);
  await reset(playing, await heldIn(playing));
  violations.push(...(await faultsOfOffers(playing)));
  await endAll(playing);
  await reset(playing, await heldIn(playing));
  if (violations.length === 0) {
    violations.push(...(await faultsOfOffers(playing)));
  }
  if (violations.length === 0 && isThorough) {
    await tryOffers(playing);
    violations.push(...(await faultsOfOffers(playing)), ...(await letHoldEnd(playing)));
  }
  if (violations.length === 0 && notifications) {
    violations.push(...(await faultsOfNotifications(playing, notifications.mayRepeat)));
  }
  return violations;
}

/**
 * Plays a round: all parties act concurrently; afterwards the stored resources are compared with the responses.
 *
 * @throws Error if there is no portal, or the searches fail
 */
export async function playRound(stage: Stage): Promise<Round> {
  const { world, network, bounds, disturb, notifications } = stage;
  const [finder] = stage.portals;
  if (!finder) {
    throw new Error('Nobody attacks.');
  }
  const notifiedBefore = countNotified(stage);
  const playing: Judged = { ...(await begin(stage)), bounds, finder, ...(notifications && { notifications }) };
  network.rage();
  await Promise.all([live(playing, stage.acts), disturb?.()]);
  network.calm();
  if ((await network.idle()) > 0 || disturb) {
    // The server may still carry out requests without a response.
    await world.wait(bounds.within);
  }
  const violations = await violationsOf(playing, stage.isThorough);
  const { history, ignored, ground } = playing;
  const result = checkHistory(history, ground.terms, bounds);
  if (result.kind === 'impossible') {
    const says = 'These answers cannot all be true, in whatever order.';
    violations.unshift({ rule: 'order', says, operations: result.operations });
  }
  return {
    operations: history.length + [...ignored.values()].reduce((sum, times) => sum + times, 0),
    booked: history.filter(({ takes, outcome }) => takes && outcome === 'done').length,
    notifiedCount: notifications && countNotified(stage) - notifiedBefore,
    ignored,
    isUndecided: result.kind === 'undecided',
    violations,
  };
}
