import type { Appointment } from '@medplum/fhirtypes';
import { type Named, nameOf } from '../client.ts';
import { type Draft, type Known, meanings, type Playing } from './acts.ts';
import { OPEN } from './adapters.ts';
import { appointmentsOf, type BookableItem, blocksIn, inWords, timeOf } from './calendar.ts';
import { type Bounds, type Calendar, type Held, mayTake, mustBeBookable, type Violation } from './check-history.ts';
import { around, isCrowded, type Operation, overlaps, type Period } from './history.ts';
import { isSo, type Party } from './perform.ts';

/** The appointments of each party's patient, as the server returns them. */
type Inventory = ReadonlyMap<string, { readonly party: Party; readonly appointment: Appointment & Named }>;

export const isOpen = ({ status }: Appointment): boolean => OPEN.includes(status);

export async function inventoryOf({ portals, staff }: Playing): Promise<Inventory> {
  const all = new Map<string, { party: Party; appointment: Appointment & Named }>();
  for (const party of [...portals, ...staff]) {
    for (const appointment of await appointmentsOf(party.client, party.patient)) {
      all.set(`Appointment/${appointment.id}`, { party, appointment });
    }
  }
  return all;
}

type Block = Awaited<ReturnType<typeof blocksIn>>[number];

const blocksOf = async ({ staff: [clerk], ground }: Playing): Promise<readonly Block[]> =>
  clerk ? blocksIn(clerk.client, ground) : [];

/** Finds out the outcome of requests without a response, by their marks in stored resources. */
export async function resolveUnknown(playing: Playing, seen: Inventory): Promise<void> {
  const { world, known, history, staff } = playing;
  const blocks = await blocksOf(playing);
  const answered = world.now();
  const resolve = (draft: Draft, entry: Omit<Known, 'time'>): void => {
    const { takes } = draft;
    const what = nameOf(entry.thing);
    if (takes) {
      Object.assign(draft, { takes: { ...takes, what }, ...(!entry.isEnding && { outcome: 'done', answered }) });
      known.set(what, { ...entry, time: takes.time });
    }
  };
  for (const draft of history.filter(({ outcome, takes }) => outcome === 'unknown' && takes)) {
    const { takes, mark } = draft;
    const [clerk] = staff;
    if (takes?.isBlock) {
      const block = blocks.find(({ id, comment }) => comment === mark && !known.has(`Slot/${id}`));
      const thing = block && { id: block.id, resourceType: 'Slot' };
      if (thing && clerk) {
        resolve(draft, { thing, owner: clerk, act: 'block', offer: undefined, isEnding: false });
      }
      continue;
    }
    const found = [...seen].find(
      ([name, { appointment }]) => appointment.comment === mark && (!known.has(name) || takes?.what === name),
    );
    if (found) {
      const [name, { party: owner, appointment: thing }] = found;
      const isThere = isOpen(thing) && timeOf(thing).start === takes?.time.start;
      resolve(draft, { thing, owner, act: 'book', offer: known.get(name)?.offer, isEnding: !isThere });
    }
  }
}

export const operationsOn = ({ history }: Playing, name: string): Operation[] =>
  history.filter(({ takes, frees, sees }) => [takes?.what, frees, sees?.what].includes(name));

export const isByStaff = ({ staff }: Playing, { actor }: Operation): boolean =>
  staff.some(({ name }) => actor === name || actor === `${name}, again`);

/** Whether others requested the time of an appointment while it was booked. */
function wasContested(
  { history, ground: { terms } }: Playing,
  own: readonly Operation[],
  isAsking: (operation: Operation) => boolean,
): boolean {
  const made = own.find(({ takes }) => takes);
  return history.some(
    (draft) =>
      !own.includes(draft) &&
      draft.outcome !== 'refused' &&
      isAsking(draft) &&
      made?.takes &&
      draft.takes &&
      overlaps(around(made.takes.time, terms), around(draft.takes.time, terms)) &&
      overlaps({ start: made.sent, end: made.answered }, { start: draft.sent, end: draft.answered }),
  );
}

/** Excludes from the judgement the appointments that the server has ended or allowed itself, and marks them. */
export function excuse(playing: Playing, seen: Inventory, { within }: Bounds): void {
  const { history, known, staff } = playing;
  for (const [name, { party, appointment }] of seen) {
    const { gaveWay, overbooks } = party.adapter;
    const own = history.filter(({ takes, frees }) => takes?.what === name || frees === name);
    const [first] = own;
    const made = own.find(({ takes }) => takes);
    const isWeak = known.get(name)?.act === 'hold' || staff.includes(party);
    // It was cancelled before the server could mark it, or that of staff, as yielding.
    const hadNoTime =
      gaveWay !== undefined &&
      own.some(({ frees, sent }) => frees && sent < (made?.answered ?? 0) + within) &&
      wasContested(playing, own, (operation) => isWeak || isByStaff(playing, operation));
    const hasGivenWay = !isOpen(appointment) && ((isWeak && isSo(gaveWay, appointment)) || hadNoTime);
    // No party requests an overbooking, so the later of two must be refused.
    const isOver = isSo(overbooks, appointment) && wasContested(playing, own, () => true);
    if (first && (hasGivenWay || isOver)) {
      // If appointments of staff yield, too, both may be visible until one has.
      const doubtful = staff.some(({ adapter }) => adapter.gaveWay) ? operationsOn(playing, name) : own;
      for (const one of doubtful) {
        const notified = `${one.responseText} (it says that it gave way)`;
        Object.assign(one, { outcome: 'unknown', answered: Number.POSITIVE_INFINITY, told: notified });
      }
      const { takes: _, ...rest } = first;
      history.push({ ...rest, actor: 'server', does: 'ends it', frees: name });
    }
  }
}

/** The open appointments around the first that exceeds the capacity, without overbookings. */
function crowdIn({ ground: { terms } }: Playing, seen: Inventory) {
  const open = [...seen].flatMap(([name, { party, appointment }]) =>
    isOpen(appointment) && !isSo(party.adapter.overbooks, appointment)
      ? [{ name, appointment, time: around(timeOf(appointment), terms) }]
      : [],
  );
  const near = (time: Period) => open.filter((other) => overlaps(other.time, time));
  const crowded = open.find((one) =>
    isCrowded(
      near(one.time).map(({ time }) => time),
      terms.capacity,
    ),
  );
  return crowded ? near(crowded.time) : [];
}

export const hasCrowd = (playing: Playing, seen: Inventory): boolean => crowdIn(playing, seen).length > 0;

/** Compares the acknowledged appointments with the stored ones. */
export function compare(playing: Playing, seen: Inventory): Violation[] {
  const violations: Violation[] = [];
  for (const [name, { act, time, thing }] of playing.known) {
    const own = operationsOn(playing, name);
    const isClear =
      thing.resourceType === 'Appointment' &&
      own.some((operation) => operation.takes && operation.outcome === 'done') &&
      own.every((operation) => (!operation.frees || operation.takes?.what === name) && operation.outcome !== 'unknown');
    const is = seen.get(name)?.appointment;
    const { start, end } = timeOf(is ?? {});
    const isKept = is && isOpen(is) && own.some(({ takes }) => takes?.time.start === start && takes.time.end === end);
    if (isClear && !isKept) {
      const says = `${meanings[act].verb} ${inWords(time)} was acknowledged as ${name}, which is ${is ? `${is.status} ${inWords({ start, end })}` : 'not there'}.`;
      violations.push({ rule: 'kept', says, operations: own });
    }
  }
  const crowd = crowdIn(playing, seen);
  if (crowd.length > 0) {
    const each = crowd.map(({ name, appointment }) => `${name} ${appointment.status} ${inWords(timeOf(appointment))}`);
    const operations = crowd.flatMap(({ name }) => operationsOn(playing, name));
    violations.push({ rule: 'alone', says: `${each.join(' and ')} have a moment in common.`, operations });
  }
  return violations;
}

/** The occupied times, as the server returns them. */
export async function heldIn(playing: Playing): Promise<Calendar> {
  const { known, ground } = playing;
  const held = new Map<string, Held>();
  for (const [name, { party, appointment }] of await inventoryOf(playing)) {
    if (isOpen(appointment)) {
      const time = timeOf(appointment);
      const isOverbooked = isSo(party.adapter.overbooks, appointment);
      // An appointment that blocks all lanes blocks its buffers, too.
      const isBlock = party.adapter.everyLane === true;
      held.set(name, { time: isBlock ? around(time, ground.terms) : time, isBlock, isOverbooked });
    }
  }
  const stored = new Set((await blocksOf(playing)).map(({ id }) => id));
  for (const [name, { thing, time }] of known) {
    if (stored.has(thing.id)) {
      held.set(name, { time, isBlock: true });
    }
  }
  return held;
}

/** The appointments that certainly occupy capacity; an overbooked one may share the time of another. */
function withoutOverbooked({ ground: { terms } }: Playing, calendar: Calendar): Calendar {
  const own = new Map([...calendar].filter(([, { isOverbooked }]) => !isOverbooked));
  for (const [name, one] of calendar) {
    if (![...own.values()].some(({ time }) => overlaps(around(time, terms), around(one.time, terms)))) {
      own.set(name, one);
    }
  }
  return own;
}

const asking = (time: Period): Operation => ({
  actor: '',
  does: '',
  sent: 0,
  answered: 0,
  outcome: 'done',
  responseText: '',
  takes: { what: '', time },
});

/** Compares the bookable items with the occupied times. */
export function wrongBookableItems(playing: Playing, calendar: Calendar, offers: readonly BookableItem[]): Violation[] {
  const { ground, history, known } = playing;
  const { terms, times } = ground;
  const isOffered = (time: Period): boolean => offers.some(({ start, end }) => start <= time.start && time.end <= end);
  const found = (rule: Violation['rule'], time: Period, says: string): Violation => {
    const operations = history.filter(({ takes, frees }) => {
      const own = takes?.time ?? (frees === undefined ? undefined : known.get(frees)?.time);
      return own !== undefined && overlaps(around(own, terms), around(time, terms));
    });
    return { rule, says, operations };
  };
  const lost = times.find((time) => mustBeBookable(calendar, asking(time), terms) && !isOffered(time));
  const certain = withoutOverbooked(playing, calendar);
  const bare = { ...terms, before: 0, after: 0 };
  const taken =
    times.find((time) => !mayTake(certain, asking(time), terms) && isOffered(time)) ??
    offers.find((offer) => !mayTake(certain, asking(offer), bare));
  return [
    ...(lost ? [found('back', lost, `Nobody has ${inWords(lost)}, and it is not on offer.`)] : []),
    ...(taken ? [found('bookable', taken, `${inWords(taken)} is taken, and on offer.`)] : []),
  ];
}
