import { type Named, nameOf } from '../client.ts';
import type { Act } from './adapters.ts';
import { type BookableItem, type Ground, instant, inWords } from './calendar.ts';
import type { Operation, Period } from './history.ts';
import type { Network, World } from './network.ts';
import { type Outcome, type Party, perform } from './perform.ts';

/** An appointment or a block that the server has acknowledged. */
export interface Known {
  readonly thing: Named;
  readonly owner: Party;
  readonly act: Act;
  time: Period;
  offer: BookableItem | undefined;
  /** Whether a request to end or to move it was sent and not refused. */
  isEnding: boolean;
  isOver?: true;
}

/** An operation without a response so far. The mark in the stored resource names the request that made it. */
export type Draft = { -readonly [Key in keyof Operation]: Operation[Key] } & { readonly mark: string };

/** The state of a round: parties, history, and acknowledged resources. */
export interface Playing {
  readonly world: World;
  readonly network: Network;
  readonly ground: Ground;
  readonly portals: readonly Party[];
  readonly staff: readonly Party[];
  readonly history: Draft[];
  readonly known: Map<string, Known>;
  /** Counts of responses that claim nothing. */
  readonly ignored: Map<string, number>;
  /** The bookable items by search: portals and staff may use different searches. */
  readonly offers: Map<string, readonly BookableItem[]>;
  /** The bookable times at the start of the round. The rest of one may move to another Slot. */
  readonly whole: readonly Period[];
}

export const offersFor = ({ offers }: Playing, { adapter }: Party): readonly BookableItem[] =>
  offers.get(adapter.find) ?? [];

export const pick = <T>({ random }: World, some: readonly T[]): T | undefined =>
  some[Math.floor(random() * some.length)];

/** Whether a party can book a time with a bookable item: a part of it if the adapter books parts, else the whole. */
export const isFor = (offer: BookableItem, { start, end }: Period, { adapter }: Party): boolean =>
  adapter.parts ? offer.start <= start && end <= offer.end : offer.start === start && offer.end === end;

/** The subject of an act: its mark, the requested time, and the name of its target. */
interface Subject {
  readonly mark: string;
  readonly time: Period | undefined;
  readonly target: string | undefined;
}

/** An act that was carried out, with its party, its bookable item and the resource of the response. */
interface Carried {
  readonly party: Party;
  readonly act: Act;
  readonly offer: BookableItem | undefined;
  readonly target: Known | undefined;
  readonly takes: Operation['takes'];
  readonly made: Named | undefined;
}

/** The meaning of an act for the model. Its requests and responses are defined by adapters. */
interface Meaning {
  readonly verb: string;
  /** Relative frequency for portals and staff, among the acts of their adapter. */
  readonly portal?: number;
  readonly staff?: number;
  /** Whether it requests a time, and whether it has a target. */
  readonly isTaking?: true;
  readonly hasTarget?: true;
  /** The change of the calendar, or the observation, that a successful response claims. */
  readonly claim?: (subject: Subject) => Pick<Operation, 'takes' | 'frees' | 'sees'>;
  readonly onDone?: (known: Map<string, Known>, carried: Carried) => void;
}

const takes = (what: string, time: Period | undefined) => time && { takes: { what, time } };
const frees = (target: string | undefined) => target !== undefined && { frees: target };

const add: Meaning['onDone'] = (known, { party: owner, act, offer, takes: taken, made }) => {
  if (made && taken && !known.has(nameOf(made))) {
    known.set(nameOf(made), { thing: made, owner, act, time: taken.time, offer, isEnding: false });
  }
};

const end: Meaning['onDone'] = (_, { target }) => target && Object.assign(target, { isOver: true });

const takenTime = {
  isTaking: true,
  claim: ({ mark, time }) => ({ ...takes(mark, time) }),
  onDone: add,
} as const satisfies Partial<Meaning>;

const ending = {
  hasTarget: true,
  claim: ({ target }) => ({ ...frees(target) }),
  onDone: end,
} as const satisfies Partial<Meaning>;

export const meanings: Readonly<Record<Act, Meaning>> = {
  book: { verb: 'books', portal: 8, staff: 4, ...takenTime },
  hold: { verb: 'holds', portal: 2, ...takenTime },
  move: {
    verb: 'moves it to',
    portal: 2,
    isTaking: true,
    hasTarget: true,
    claim: ({ mark, time, target }) => ({ ...takes(target ?? mark, time), ...frees(target) }),
    onDone(known, carried) {
      const { target, takes: taken, made: thing, offer } = carried;
      if (!target) {
        add(known, carried);
      } else if (taken && thing) {
        Object.assign(target, { isEnding: false, time: taken.time, offer, thing });
      }
    },
  },
  replace: {
    verb: 'books instead of it',
    portal: 2,
    ...takenTime,
    hasTarget: true,
    claim: ({ mark, time, target }) => ({ ...takes(mark, time), ...frees(target) }),
  },
  cancel: { verb: 'cancels', portal: 5, staff: 3, ...ending },
  read: {
    verb: 'reads',
    portal: 2,
    staff: 1,
    hasTarget: true,
    claim: ({ target }) => (target === undefined ? {} : { sees: { what: target, isThere: true } }),
  },
  block: {
    verb: 'blocks',
    staff: 3,
    ...takenTime,
    claim: ({ mark, time }) => (time ? { takes: { what: mark, time, isBlock: true } } : {}),
  },
  unblock: { verb: 'unblocks', staff: 3, ...ending },
  subscribe: { verb: 'subscribes' },
  unsubscribe: { verb: 'unsubscribes' },
};

/** Records the outcome of an act. A response that claims nothing is only counted. */
function settle(playing: Playing, draft: Draft, outcome: Outcome, carried: Omit<Carried, 'takes' | 'made'>): void {
  const { history, ignored, known, world } = playing;
  const { act, target } = carried;
  const { kind, notifiedCount, made } = outcome;
  const isRead = act === 'read';
  draft.responseText = notifiedCount;
  if (isRead) {
    // Any other definite response claims that the appointment is missing.
    draft.outcome = 'done';
    draft.sees = { what: draft.sees?.what ?? '', isThere: kind === 'done' };
  } else if (kind !== 'nothing') {
    draft.outcome = kind;
  }
  if (isRead ? !/^200/.test(notifiedCount) : kind === 'nothing') {
    ignored.set(notifiedCount, (ignored.get(notifiedCount) ?? 0) + 1);
    history.splice(history.indexOf(draft), 1);
  }
  if (isRead || kind !== 'unknown') {
    draft.answered = world.now();
  }
  if (target && !isRead && (kind === 'refused' || kind === 'nothing')) {
    target.isEnding = false;
  }
  if (kind === 'done') {
    if (draft.takes && made) {
      draft.takes = { ...draft.takes, what: nameOf(made) };
      draft.responseText = `${notifiedCount} ${nameOf(made).slice(0, 20)}`;
    }
    meanings[act].onDone?.(known, { ...carried, takes: draft.takes, made });
  }
}

let marks = 0;

/** Sends an act for a party, sometimes twice, and records request and response. */
export async function carryOutAct(
  playing: Playing,
  party: Party,
  act: Act,
  time: Period | undefined,
  target?: Known,
  isRepeated = false,
): Promise<void> {
  const { world, network, ground, history, whole } = playing;
  const { verb, isTaking, claim } = meanings[act];
  const mark = isRepeated ? `attack ${marks}` : `attack ${++marks}`;
  const fitting = offersFor(playing, party).filter((bookableItem) => time && isFor(bookableItem, time, party));
  const offer = time ? pick(world, fitting) : target?.offer;
  if (!offer && isTaking && act !== 'block') {
    return;
  }
  const when = time ?? target?.time;
  const draft: Draft = {
    actor: isRepeated ? `${party.name}, again` : party.name,
    does: when ? `${verb} ${inWords(when)}` : verb,
    ...claim?.({ mark, time, target: target && nameOf(target.thing) }),
    ...(offer && {
      found: offer.found,
      of: periodOf(whole.find((each) => each.start <= offer.start && offer.end <= each.end) ?? offer),
    }),
    sent: world.now(),
    answered: Number.POSITIVE_INFINITY,
    outcome: 'unknown',
    responseText: 'no answer',
    mark,
  };
  history.push(draft);
  if (target && act !== 'read') {
    target.isEnding = true;
  }
  const sending = perform(party, act, {
    data: ground.data,
    mark,
    ...(offer && { offer }),
    ...(when && { start: instant(when.start), end: instant(when.end) }),
    ...(target && { appointment: target.thing }),
  });
  const again =
    !isRepeated && party.adapter.acts[act]?.length === 1 && network.repeats()
      ? carryOutAct(playing, party, act, time, target, true)
      : undefined;
  settle(playing, draft, await sending, { party, act, offer, target });
  await again;
}

const periodOf = ({ start, end }: Period): Period => ({ start, end });
