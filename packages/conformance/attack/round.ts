import type { Appointment, Bundle } from '@medplum/fhirtypes';
import { type Named, nameOf } from '../client.ts';
import { isSo, type Outcome, type Party, perform } from './act.ts';
import { type Act, OPEN } from './adapters.ts';
import { appointmentsOf, blocksIn, type Ground, instant, inWords, type Offer, offersIn, timeOf } from './calendar.ts';
import { around, isCrowded, type Operation, overlaps, type Period } from './history.ts';
import { type Bounds, type Calendar, type Held, judge, mayTake, mustBeOffered } from './judge.ts';
import type { Network, World } from './network.ts';
import { dueFor, eventsOf, missingIn, wrongIn as toldWrong } from './told.ts';

/** What must be true of a booking server, whoever does what at the same time. */
export const rules = {
  order: 'There is one order in which every answer is true',
  kept: 'What was acknowledged is there until it is ended',
  alone: 'No time is held twice',
  back: 'What is free is on offer, and given back in time',
  bookable: 'What is taken is not on offer',
  told: 'What others do to an appointment is told once and in order',
} as const;

/** A rule that is broken: how, and what was done and answered. */
export interface Violation {
  readonly rule: keyof typeof rules;
  readonly says: string;
  readonly operations: readonly Operation[];
}

/** Who takes part in a round, where, and how it is judged. */
interface Stage {
  readonly world: World;
  readonly network: Network;
  readonly ground: Ground;
  readonly portals: readonly Party[];
  readonly staff: readonly Party[];
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

/** What a round has come to. */
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

/** An appointment or a block that somebody was told to have. */
interface Known {
  readonly thing: Named;
  readonly owner: Party;
  readonly act: Act;
  time: Period;
  offer: Offer | undefined;
  /** Whether somebody has begun to end or to move it, and was not refused. */
  isEnding: boolean;
  /** Whether that was acknowledged. */
  isOver?: true;
}

type Draft = { -readonly [Key in keyof Operation]: Operation[Key] } & { readonly mark: string };

const verbs: Readonly<Record<Act, string>> = {
  book: 'books',
  hold: 'holds',
  move: 'moves it to',
  replace: 'books instead of it',
  cancel: 'cancels',
  read: 'reads',
  block: 'blocks',
  unblock: 'unblocks',
  subscribe: 'subscribes',
  unsubscribe: 'unsubscribes',
};

/** How often portals and staff do what, of those things that their interface has. */
const shares: Readonly<Record<'portal' | 'staff', Readonly<Partial<Record<Act, number>>>>> = {
  portal: { book: 8, hold: 2, move: 2, replace: 2, cancel: 5, read: 2 },
  staff: { book: 4, cancel: 3, block: 3, unblock: 3, read: 1 },
};

/** Acts that need something that is known. */
const changing: readonly Act[] = ['move', 'replace', 'cancel', 'read', 'unblock'];

/** Acts that take a time. */
const taking: readonly Act[] = ['book', 'hold', 'move', 'replace', 'block'];

/** How often it is asked for. */
const HOT = 0.5;

/** Between two looks at something that takes a while, in milliseconds. */
const PAUSE = 100;

/** How long it may take until somebody is told who has refused some notifications, in milliseconds. */
const TOLD = 60_000;

const isOpen = ({ status }: Appointment): boolean => OPEN.includes(status);

let marks = 0;

/** Plays a round: everybody acts at once; then, when all is quiet, what is there is compared with what was answered. */
export async function playRound(stage: Stage): Promise<Round> {
  const { world, network, ground, portals, staff, bounds } = stage;
  const { terms } = ground;
  const history: Draft[] = [];
  const known = new Map<string, Known>();
  const ignored = new Map<string, number>();
  /** What was found, by how it was found: portals and staff may look in different places. */
  const offers = new Map<string, readonly Offer[]>();
  const finders = new Map([...staff, ...portals].map((party) => [party.adapter.find, party]));
  for (const [find, party] of finders) {
    offers.set(find, await offersIn(party, ground, world));
  }
  /** What is offered in the beginning: what is left of it may change places, so that an old offer is another one. */
  const whole = [...offers.values()].flat().map(({ start, end }): Period => ({ start, end }));
  const offersFor = ({ adapter }: Party): readonly Offer[] => offers.get(adapter.find) ?? [];

  const pick = <T>(some: readonly T[]): T | undefined => some[Math.floor(world.random() * some.length)];

  /** The time that most ask for. */
  const hot = pick(ground.times);

  function chosenAct(party: Party, kind: keyof typeof shares): Act | undefined {
    const weighted = Object.entries(shares[kind]).flatMap(([act, share]) =>
      party.adapter.acts[act as Act] ? Array.from({ length: share }, () => act as Act) : [],
    );
    return pick(weighted);
  }

  /** What a party can act on: portals on their own, staff on everything. */
  function targetOf(party: Party, act: Act): Known | undefined {
    const isBlock = act === 'unblock';
    return pick(
      [...known.values()].filter(
        (one) =>
          (one.act === 'block') === isBlock &&
          (one.owner === party || staff.includes(party)) &&
          (!one.isEnding || world.random() < 0.1),
      ),
    );
  }

  /** Whether somebody can ask for a time with an offer: for a part of it, or the whole. */
  const isFor = (offer: Offer, { start, end }: Period, { adapter }: Party): boolean =>
    adapter.parts ? offer.start <= start && end <= offer.end : offer.start === start && end === offer.end;

  /** A record of what is asked, filled in when it is answered. */
  function draft(party: Party, act: Act, time: Period | undefined, target: Known | undefined, mark: string): Draft {
    const what = target && nameOf(target.thing);
    const isTaking = taking.includes(act);
    const taken = act === 'move' ? (what ?? mark) : mark;
    const does = [
      verbs[act],
      isTaking ? '' : inWords(target?.time ?? { start: 0, end: 0 }),
      time && isTaking ? inWords(time) : '',
    ];
    return {
      actor: party.name,
      does: does.filter((word) => word !== '').join(' '),
      ...(isTaking && time && { takes: { what: taken, time, ...(act === 'block' && { isBlock: true as const }) } }),
      ...(act !== 'read' && what !== undefined && { frees: what }),
      ...(act === 'read' && what !== undefined && { sees: { what, isThere: true } }),
      sent: world.now(),
      answered: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      told: 'no answer',
      mark,
    };
  }

  function settle(
    one: Draft,
    party: Party,
    act: Act,
    outcome: Outcome,
    target: Known | undefined,
    offer: Offer | undefined,
  ) {
    one.told = outcome.told;
    if (act === 'read') {
      // Anything else than the appointment says that it is not there, if it says anything.
      one.outcome = 'done';
      one.sees = { what: one.sees?.what ?? '', isThere: outcome.kind === 'done' };
    } else if (outcome.kind !== 'nothing') {
      one.outcome = outcome.kind;
    }
    const isSilent = act === 'read' ? !/^200/.test(outcome.told) : outcome.kind === 'nothing';
    if (isSilent) {
      ignored.set(outcome.told, (ignored.get(outcome.told) ?? 0) + 1);
      history.splice(history.indexOf(one), 1);
    }
    if (outcome.kind !== 'unknown' || act === 'read') {
      one.answered = world.now();
    }
    if (target && act !== 'read' && (outcome.kind === 'refused' || outcome.kind === 'nothing')) {
      target.isEnding = false;
    }
    if (target && outcome.kind === 'done' && (act === 'cancel' || act === 'unblock')) {
      target.isOver = true;
    }
    const { made } = outcome;
    if (outcome.kind === 'done' && one.takes && made) {
      one.takes = { ...one.takes, what: nameOf(made) };
      one.told = `${one.told} ${nameOf(made).slice(0, 20)}`;
      if (target && act === 'move') {
        Object.assign(target, { isEnding: false, time: one.takes.time, offer, thing: made });
      } else if (!known.has(nameOf(made))) {
        known.set(nameOf(made), { thing: made, owner: party, act, time: one.takes.time, offer, isEnding: false });
      }
    }
  }

  async function act(
    party: Party,
    kind: Act,
    time: Period | undefined,
    target?: Known,
    isRepeated = false,
  ): Promise<void> {
    const mark = isRepeated ? `attack ${marks}` : `attack ${++marks}`;
    const candidates = offersFor(party).filter((one) => time && isFor(one, time, party));
    const offer = time ? pick(candidates) : target?.offer;
    if (!offer && kind !== 'block' && taking.includes(kind)) {
      return;
    }
    const one = draft(isRepeated ? { ...party, name: `${party.name}, again` } : party, kind, time, target, mark);
    if (offer) {
      one.found = offer.found;
      const { start, end } = whole.find((each) => each.start <= offer.start && offer.end <= each.end) ?? offer;
      one.of = { start, end };
    }
    history.push(one);
    if (target && kind !== 'read') {
      target.isEnding = true;
    }
    const when = time ?? target?.time;
    const about = {
      data: ground.data,
      mark,
      ...(offer && { offer }),
      ...(when && { start: instant(when.start), end: instant(when.end) }),
      ...(target && { appointment: target.thing }),
    };
    const doing = perform(party, kind, about);
    const again =
      !isRepeated && party.adapter.acts[kind]?.length === 1 && network.repeats()
        ? act(party, kind, time, target, true)
        : undefined;
    settle(one, party, kind, await doing, target, offer);
    await again;
  }

  /** Something that a party may do now. */
  async function actOnce(party: Party, kind: keyof typeof shares): Promise<void> {
    const chosen = chosenAct(party, kind);
    const needsTarget = chosen !== undefined && changing.includes(chosen);
    const target = needsTarget ? targetOf(party, chosen) : undefined;
    const time = world.random() < HOT ? hot : pick(ground.times);
    if (chosen && (target || !needsTarget)) {
      await act(party, chosen, taking.includes(chosen) ? time : undefined, target);
    }
    if (world.random() < 0.15) {
      const fresh = await offersIn(party, ground, world).catch(() => []);
      const all = [...offersFor(party), ...fresh].map((one) => [one.resource.id ?? one.start, one] as const);
      offers.set(party.adapter.find, [...new Map(all).values()]);
    }
  }

  /** Everybody takes one time at the same moment, in one of the ways that there are, and gives it back. */
  async function race(): Promise<void> {
    const time = world.random() < HOT ? hot : pick(ground.times);
    for (const [find, party] of finders) {
      offers.set(find, await offersIn(party, ground, world).catch(() => []));
    }
    await Promise.all(
      [...portals, ...staff].map((party) => {
        const chosen = pick(taking.filter((one) => party.adapter.acts[one]));
        const target = chosen && changing.includes(chosen) ? targetOf(party, chosen) : undefined;
        const instead = chosen && changing.includes(chosen) && !target ? 'book' : chosen;
        return instead && act(party, instead, time, target);
      }),
    );
    // Some give theirs back, and some lose it to staff.
    const open = [...known.values()].filter((one) => !one.isOver && one.time.start === time?.start);
    await Promise.all(open.map((one) => one.act !== 'block' && act(one.owner, 'read', undefined, one)));
    const [clerk] = staff;
    await Promise.all(
      open.map((one) => {
        const chance = world.random();
        const party = chance < 0.4 ? (clerk ?? one.owner) : one.owner;
        return chance < 0.8 && act(party, one.act === 'block' ? 'unblock' : 'cancel', undefined, one);
      }),
    );
  }

  /** Everybody acts: each at its own pace, or all at the same moment, one act after the other; or all want the same. */
  async function live(): Promise<void> {
    const everybody = [
      ...portals.map((party) => () => actOnce(party, 'portal')),
      ...staff.map((party) => () => actOnce(party, 'staff')),
    ];
    const pace = world.random();
    const times = Array.from({ length: stage.acts });
    if (pace < 1 / 3) {
      for (let count = 0; count < stage.acts; count += 2) {
        await race();
      }
    } else if (pace < 2 / 3) {
      for (const _ of times) {
        await Promise.all(everybody.map((acts) => acts()));
      }
    } else {
      await Promise.all(
        everybody.map(async (acts) => {
          for (const _ of times) {
            await acts();
          }
        }),
      );
    }
  }

  /** All appointments of the patients, as the server shows them to each party. */
  async function inventory(): Promise<Map<string, { party: Party; appointment: Appointment & Named }>> {
    const all = new Map<string, { party: Party; appointment: Appointment & Named }>();
    for (const party of [...portals, ...staff]) {
      for (const appointment of await appointmentsOf(party.client, party.patient)) {
        all.set(`Appointment/${appointment.id}`, { party, appointment });
      }
    }
    return all;
  }

  type Inventory = Awaited<ReturnType<typeof inventory>>;

  /** What had no answer is known as far as it is seen: its mark, or what has become of its appointment. */
  function resolve(seen: Inventory, blocks: readonly { id: string; comment: string }[]): void {
    const now = world.now();
    for (const one of history.filter(({ outcome }) => outcome === 'unknown')) {
      const block =
        one.takes?.isBlock && blocks.find(({ id, comment }) => comment === one.mark && !known.has(`Slot/${id}`));
      const found = [...seen].find(
        ([name, { appointment }]) =>
          one.takes &&
          !one.takes.isBlock &&
          appointment.comment === one.mark &&
          (!known.has(name) || one.takes.what === name),
      );
      if (block && one.takes) {
        const thing = { id: block.id, resourceType: 'Slot' };
        Object.assign(one, { outcome: 'done', answered: now, takes: { ...one.takes, what: nameOf(thing) } });
        known.set(nameOf(thing), {
          thing,
          owner: staff[0] as Party,
          act: 'block',
          time: one.takes.time,
          offer: undefined,
          isEnding: false,
        });
      } else if (found && one.takes) {
        const [name, { party, appointment }] = found;
        const { time } = one.takes;
        const isThere = isOpen(appointment) && timeOf(appointment).start === time.start;
        Object.assign(one, { takes: { ...one.takes, what: name }, ...(isThere && { outcome: 'done', answered: now }) });
        known.set(name, {
          thing: appointment,
          owner: party,
          act: 'book',
          time,
          offer: known.get(name)?.offer,
          isEnding: !isThere,
        });
      }
    }
  }

  const isByStaff = ({ actor }: Operation): boolean =>
    staff.some(({ name }) => actor === name || actor === `${name}, again`);

  /** Whether others asked for the time of an appointment while it was made. */
  function wasContested(own: readonly Operation[], isAsking: (other: Operation) => boolean): boolean {
    const [made] = own.filter(({ takes }) => takes);
    return history.some(
      (one) =>
        !own.includes(one) &&
        one.outcome !== 'refused' &&
        isAsking(one) &&
        made?.takes &&
        one.takes &&
        overlaps(around(made.takes.time, terms), around(one.takes.time, terms)) &&
        overlaps({ start: made.sent, end: made.answered }, { start: one.sent, end: one.answered }),
    );
  }

  /**
   * Whether an appointment was ended before the server could say that it, or that of staff, gave way: it was made while
   * others asked for its time, and ended soon after.
   */
  function hadNoTime({ adapter }: Party, own: readonly Operation[], isWeak: boolean): boolean {
    const [made] = own.filter(({ takes }) => takes);
    const isSoon = own.some((one) => one.frees && one.sent < (made?.answered ?? 0) + bounds.within);
    return adapter.gaveWay !== undefined && isSoon && wasContested(own, (one) => isWeak || isByStaff(one));
  }

  const about = (name: string): Operation[] =>
    history.filter(({ takes, frees, sees }) => [takes?.what, frees, sees?.what].includes(name));

  /** What the server itself has ended or allowed, and says so: it stays out of the judgement. */
  function excuse(seen: Inventory): void {
    for (const [name, { party, appointment }] of seen) {
      const own = history.filter(({ takes, frees }) => takes?.what === name || frees === name);
      const [first] = own;
      const isWeak = known.get(name)?.act === 'hold' || staff.includes(party);
      const saysSo = isWeak && isSo(party.adapter.gaveWay, appointment);
      const gaveWay = !isOpen(appointment) && (saysSo || hadNoTime(party, own, isWeak));
      // Nobody asks for overbooking here: who comes later is refused.
      const isOver = isSo(party.adapter.overbooks, appointment) && wasContested(own, () => true);
      if (first && (gaveWay || isOver)) {
        // Where staff's appointments give way as well, both may be seen until one of them has.
        const seenMeanwhile = staff.some(({ adapter }) => adapter.gaveWay) ? about(name) : own;
        for (const one of seenMeanwhile) {
          Object.assign(one, {
            outcome: 'unknown',
            answered: Number.POSITIVE_INFINITY,
            told: `${one.told} (it says that it gave way)`,
          });
        }
        const { takes: _, ...rest } = first;
        history.push({ ...rest, actor: 'server', does: 'ends it', frees: name });
      }
    }
  }

  /** What is open, and the first of it that has its time with too many others. */
  function crowdIn(seen: Inventory) {
    const open = [...seen].filter(
      ([, { party, appointment }]) => isOpen(appointment) && !isSo(party.adapter.overbooks, appointment),
    );
    const crowd = open.find(([, { appointment }]) => {
      const own = around(timeOf(appointment), terms);
      const near = open.map(([, one]) => around(timeOf(one.appointment), terms)).filter((one) => overlaps(one, own));
      return isCrowded(near, terms.capacity);
    });
    return { open, crowd };
  }

  /** Looks again and again until what is seen is right, or should have been. */
  async function until<T>(look: () => Promise<T>, isRight: (seen: T) => boolean, within = bounds.within): Promise<T> {
    const end = world.now() + within;
    for (;;) {
      const seen = await look();
      if (isRight(seen) || world.now() >= end) {
        return seen;
      }
      await world.wait(PAUSE);
    }
  }

  /** What was acknowledged is compared with what is there. */
  function compare(seen: Inventory): Violation[] {
    const violations: Violation[] = [];
    for (const [name, { act: kind, time, thing }] of known) {
      if (thing.resourceType !== 'Appointment') {
        continue;
      }
      const own = about(name);
      const isClear =
        own.some((one) => one.takes && one.outcome === 'done') &&
        own.every((one) => !one.frees || one.takes?.what === name) &&
        own.every(({ outcome }) => outcome !== 'unknown');
      const is = seen.get(name)?.appointment;
      const isKept =
        is &&
        isOpen(is) &&
        own.some(({ takes }) => takes?.time.start === timeOf(is).start && takes.time.end === timeOf(is).end);
      if (isClear && !isKept) {
        const says = `${verbs[kind]} ${inWords(time)} was acknowledged as ${name}, which is ${is ? `${is.status} ${inWords(timeOf(is))}` : 'not there'}.`;
        violations.push({ rule: 'kept', says, operations: own });
      }
    }
    const { open, crowd } = crowdIn(seen);
    if (crowd) {
      const own = around(timeOf(crowd[1].appointment), terms);
      const those = open.filter(([, one]) => overlaps(around(timeOf(one.appointment), terms), own));
      const says = those
        .map(([name, { appointment }]) => `${name} ${appointment.status} ${inWords(timeOf(appointment))}`)
        .join(' and ');
      violations.push({
        rule: 'alone',
        says: `${says} have a moment in common.`,
        operations: those.flatMap(([name]) => about(name)),
      });
    }
    return violations;
  }

  /** Who has which time now, as the server shows it. */
  async function held(): Promise<Calendar> {
    const seen = await inventory();
    const open = [...seen].filter(([, { appointment }]) => isOpen(appointment));
    const stored = staff[0] ? await blocksIn(staff[0].client, ground) : [];
    const blocks = [...known].filter(([, { thing }]) => stored.some(({ id }) => id === thing.id));
    return new Map<string, Held>([
      ...open.map(([name, { party, appointment }]): [string, Held] => {
        const time = timeOf(appointment);
        const isOverbooked = isSo(party.adapter.overbooks, appointment);
        // What takes every place takes the time around it as well.
        const isBlock = party.adapter.everyPlace === true;
        return [name, { time: isBlock ? around(time, terms) : time, isBlock, isOverbooked }];
      }),
      ...blocks.map(([name, { time }]) => [name, { time, isBlock: true }] as const),
    ]);
  }

  /** What surely has a place: what is overbooked may share that of another. */
  function ownPlaces(calendar: Calendar): Calendar {
    const own = new Map([...calendar].filter(([, { isOverbooked }]) => !isOverbooked));
    for (const [name, one] of calendar) {
      if (![...own.values()].some(({ time }) => overlaps(around(time, terms), around(one.time, terms)))) {
        own.set(name, one);
      }
    }
    return own;
  }

  /** What is wrong with the offers, given who has which time. */
  function wrongIn(calendar: Calendar, now: readonly Offer[]): Violation[] {
    const asked = (time: Period): Operation => ({ ...EMPTY, takes: { what: '', time } });
    const isOffered = (time: Period): boolean => now.some((one) => one.start <= time.start && time.end <= one.end);
    const near = (time: Period): Operation[] =>
      history.filter(({ takes, frees }) => {
        const own = takes?.time ?? (frees === undefined ? undefined : known.get(frees)?.time);
        return own !== undefined && overlaps(around(own, terms), around(time, terms));
      });
    const lost = ground.times.find((time) => mustBeOffered(calendar, asked(time), terms) && !isOffered(time));
    const places = ownPlaces(calendar);
    const bare = { ...terms, before: 0, after: 0 };
    const false_ =
      ground.times.find((time) => !mayTake(places, asked(time), terms) && isOffered(time)) ??
      now.find((offer) => !mayTake(places, asked(offer), bare));
    return [
      ...(lost
        ? [
            {
              rule: 'back' as const,
              says: `Nobody has ${inWords(lost)}, and it is not on offer.`,
              operations: near(lost),
            },
          ]
        : []),
      ...(false_
        ? [{ rule: 'bookable' as const, says: `${inWords(false_)} is taken, and on offer.`, operations: near(false_) }]
        : []),
    ];
  }

  const finder = portals[0] as Party;

  /** What is wrong with the offers when they should be right. */
  const offersBecomeRight = (): Promise<Violation[]> =>
    until(
      async () => wrongIn(await held(), await offersIn(finder, ground, world)),
      (wrong) => wrong.length === 0,
    );

  /** Takes a Slot back that a client has taken without coming further. */
  async function reset(calendar: Calendar): Promise<void> {
    const step = finder.adapter.reset;
    for (const offer of step ? offersFor(finder) : []) {
      if (![...calendar.values()].some(({ time }) => overlaps(time, offer))) {
        const adapter = { ...finder.adapter, acts: { book: [step as NonNullable<typeof step>] } };
        await perform({ ...finder, adapter }, 'book', { data: ground.data, mark: '', offer });
      }
    }
  }

  /** Ends everything that is open. */
  async function endAll(): Promise<void> {
    for (const [name, { party, appointment }] of await inventory()) {
      if (isOpen(appointment)) {
        const is = known.get(name) ?? {
          thing: appointment,
          owner: party,
          act: 'book' as const,
          time: timeOf(appointment),
          offer: offersFor(party).find(
            (one) => one.start <= timeOf(appointment).start && timeOf(appointment).end <= one.end,
          ),
          isEnding: false,
        };
        known.set(name, is);
        await act(is.owner, 'cancel', undefined, is);
      }
    }
    for (const is of [...known.values()].filter((one) => one.act === 'block' && !one.isOver)) {
      await act(staff[0] as Party, 'unblock', undefined, is);
    }
  }

  /** The events that somebody was told so far. */
  const toldTo = ({ subscription }: Party) =>
    subscription && stage.notifications ? eventsOf(stage.notifications.received, nameOf(subscription)) : [];

  const toldBefore = portals.reduce((sum, one) => sum + toldTo(one).length, 0);

  /** Waits for what subscribers must be told, and looks at what they were told. */
  async function whatIsTold(mayRepeat: boolean): Promise<Violation[]> {
    const isOther = (one: Operation): boolean => one.actor === 'server' || isByStaff(one);
    for (const [name, { owner, act: made }] of known) {
      // Only its own portal knows of a hold.
      if (owner.subscription && made !== 'hold') {
        ground.due.set(name, dueFor(name, about(name), isOther));
      }
    }
    const look = async () => ({
      wrong: portals.flatMap((party) => toldWrong(toldTo(party), ground.due, mayRepeat) ?? []),
      missing: portals.flatMap((party) => {
        const own = [...ground.due].filter(([name]) => known.get(name)?.owner === party);
        const name = missingIn(toldTo(party), new Map(own));
        return name ? [{ says: `${party.name} was not told what others did to ${name}.`, about: name }] : [];
      }),
    });
    const isClear = ({ wrong, missing }: Awaited<ReturnType<typeof look>>) => wrong.length > 0 || missing.length === 0;
    const { wrong, missing } = await until(look, isClear, bounds.told ?? TOLD);
    const [first] = [...wrong, ...missing];
    return first ? [{ rule: 'told', says: first.says, operations: about(first.about) }] : [];
  }

  async function tryOffers(): Promise<void> {
    await world.wait(bounds.within);
    for (const time of ground.times) {
      offers.set(finder.adapter.find, await offersIn(finder, ground, world));
      await act(finder, 'book', time);
    }
    await endAll();
  }

  /** Lets a hold end by itself: its time must come back. */
  async function letHoldEnd(): Promise<Violation[]> {
    const offer = offersFor(finder).find((one) => ground.times.some((time) => isFor(one, time, finder)));
    const time = offer && ground.times.find((one) => isFor(offer, one, finder));
    if (bounds.holds === undefined || !time || !finder.adapter.acts.hold) {
      return [];
    }
    const about = { data: ground.data, mark: '', offer, start: instant(time.start), end: instant(time.end) };
    const { made } = await perform(finder, 'hold', about);
    await world.wait(bounds.holds);
    const isHeld = async (): Promise<boolean> => {
      const is = made && (await inventory()).get(nameOf(made));
      return is !== undefined && isOpen(is.appointment);
    };
    return made && (await until(isHeld, (is) => !is))
      ? [{ rule: 'back', says: `${nameOf(made)} holds ${inWords(time)}, and does not end.`, operations: [] }]
      : offersBecomeRight();
  }

  network.rage();
  await Promise.all([live(), stage.disturb?.()]);
  network.calm();
  if ((await network.idle()) > 0 || stage.disturb) {
    // What the server has not answered it may still carry out.
    await world.wait(bounds.within);
  }
  // What had to give way may need a moment.
  const seen = await until(inventory, (there) => !crowdIn(there).crowd);
  resolve(seen, staff[0] ? await blocksIn(staff[0].client, ground) : []);
  excuse(seen);
  const violations = compare(seen);
  await reset(await held());
  violations.push(...(await offersBecomeRight()));
  await endAll();
  await reset(await held());
  if (violations.length === 0) {
    violations.push(...(await offersBecomeRight()));
  }
  if (violations.length === 0 && stage.isThorough) {
    await tryOffers();
    violations.push(...(await offersBecomeRight()), ...(await letHoldEnd()));
  }
  if (violations.length === 0 && stage.notifications) {
    violations.push(...(await whatIsTold(stage.notifications.mayRepeat)));
  }
  const verdict = judge(history, terms, bounds);
  if (verdict.kind === 'impossible') {
    violations.unshift({
      rule: 'order',
      says: 'These answers cannot all be true, in whatever order.',
      operations: verdict.operations,
    });
  }
  return {
    operations: history.length + [...ignored.values()].reduce((sum, count) => sum + count, 0),
    booked: history.filter(({ takes, outcome }) => takes && outcome === 'done').length,
    told: stage.notifications && portals.reduce((sum, one) => sum + toldTo(one).length, 0) - toldBefore,
    ignored,
    isUndecided: verdict.kind === 'undecided',
    violations,
  };
}

const EMPTY: Operation = { actor: '', does: '', sent: 0, answered: 0, outcome: 'done', told: '' };
