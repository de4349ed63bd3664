import type { Bundle } from '@medplum/fhirtypes';
import { nameOf } from '../client.ts';
import { carryOutAct, isFor, type Known, meanings, offersFor, type Playing, pick } from './acts.ts';
import { type Act, acts } from './adapters.ts';
import { bookableItemsIn, instant, inWords, timeOf } from './calendar.ts';
import type { Operation } from './history.ts';
import { overlaps } from './history.ts';
import { type Bounds, type Calendar, judge, type Violation } from './judge.ts';
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

/** Who takes part in a round, where, and how it is judged. */
interface Stage extends Pick<Playing, 'world' | 'network' | 'ground' | 'portals' | 'staff'> {
  readonly bounds: Bounds;
  /** How often each actor acts. */
  readonly acts: number;
  /** Whether in the end every offer is tried. */
  readonly isThorough: boolean;
  /** Called once while everybody acts. */
  readonly disturb?: () => Promise<void>;
  /** The notifications that have come, and whether the server was ended since its subscribers subscribed. */
  readonly notifications?: { readonly received: readonly Bundle[]; readonly mayRepeat: boolean };
}

/** The result of a round. */
export interface Round {
  readonly operations: number;
  readonly booked: number;
  /** Events that subscribers were told of appointments of this calendar; `undefined` if nobody subscribes. */
  readonly told: number | undefined;
  /** Answers that claim nothing, and how often they came. */
  readonly ignored: ReadonlyMap<string, number>;
  readonly isUndecided: boolean;
  readonly violations: readonly Violation[];
}

/** A round with its judge and its finder, the portal that looks for offers. */
type Judged = Playing & Pick<Stage, 'bounds' | 'notifications'> & { readonly finder: Party };

/** How often the time that most ask for is chosen. */
const HOT = 0.5;

/** How long it may take until somebody is told who has refused some notifications, in milliseconds. */
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

/** An appointment or block for an act: of portals their own, of staff any; rarely one that somebody is ending. */
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

/** Everybody acts: each at its own pace, or all at the same moment, one act after the other; or all want the same. */
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

  /** Everybody takes one time at the same moment, in one of the ways that there are, and gives it back. */
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
    // Some give theirs back, and some lose it to staff.
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

/** The faults of the offers, if they stay when the offers should be right. */
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

/** Frees each Slot that a client has taken without coming further. */
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

/** Ends everything that is open. */
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

const toldTo = ({ notifications }: Pick<Stage, 'notifications'>, { subscription }: Party) =>
  subscription && notifications ? eventsOf(notifications.received, nameOf(subscription)) : [];

const countTold = (stage: Stage): number => stage.portals.reduce((sum, party) => sum + toldTo(stage, party).length, 0);

/** Waits for what subscribers must be told, and finds the first fault of what they were told. */
async function faultsOfNotifications(playing: Judged, mayRepeat: boolean): Promise<Violation[]> {
  const { known, ground, portals, world, bounds } = playing;
  const isOther = (operation: Operation): boolean => operation.actor === 'server' || isByStaff(playing, operation);
  for (const [name, { owner, act }] of known) {
    // Only its own portal knows of a hold.
    if (owner.subscription && act !== 'hold') {
      ground.due.set(name, dueFor(name, operationsOn(playing, name), isOther));
    }
  }
  const look = async () => ({
    wrong: portals.flatMap((party) => wrongIn(toldTo(playing, party), ground.due, mayRepeat) ?? []),
    missing: portals.flatMap((party) => {
      const own = [...ground.due].filter(([name]) => known.get(name)?.owner === party);
      const name = missingIn(toldTo(playing, party), new Map(own));
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

/** Books every time in turn. */
async function tryOffers(playing: Judged): Promise<void> {
  const { world, bounds, ground, offers, finder } = playing;
  await world.wait(bounds.within);
  for (const time of ground.times) {
    offers.set(finder.adapter.find, await bookableItemsIn(finder, ground, world));
    await carryOutAct(playing, finder, 'book', time);
  }
  await endAll(playing);
}

/** Lets a hold end by itself: its time must come back. */
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

/** Compares what is there, when all is quiet, with what was answered; ends everything on the way. */
async function violationsOf(playing: Judged, isThorough: boolean): Promise<Violation[]> {
  const { bounds, notifications, world } = playing;
  // What had to give way may need a moment.
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
 * Plays a round: everybody acts at once; then, when all is quiet, what is there is compared with what was answered.
 *
 * @throws Error if nobody looks for offers, or they cannot be found
 */
export async function playRound(stage: Stage): Promise<Round> {
  const { world, network, bounds, disturb, notifications } = stage;
  const [finder] = stage.portals;
  if (!finder) {
    throw new Error('Nobody attacks.');
  }
  const toldBefore = countTold(stage);
  const playing: Judged = { ...(await begin(stage)), bounds, finder, ...(notifications && { notifications }) };
  network.rage();
  await Promise.all([live(playing, stage.acts), disturb?.()]);
  network.calm();
  if ((await network.idle()) > 0 || disturb) {
    // What the server has not answered it may still carry out.
    await world.wait(bounds.within);
  }
  const violations = await violationsOf(playing, stage.isThorough);
  const { history, ignored, ground } = playing;
  const result = judge(history, ground.terms, bounds);
  if (result.kind === 'impossible') {
    const says = 'These answers cannot all be true, in whatever order.';
    violations.unshift({ rule: 'order', says, operations: result.operations });
  }
  return {
    operations: history.length + [...ignored.values()].reduce((sum, times) => sum + times, 0),
    booked: history.filter(({ takes, outcome }) => takes && outcome === 'done').length,
    told: notifications && countTold(stage) - toldBefore,
    ignored,
    isUndecided: result.kind === 'undecided',
    violations,
  };
}
