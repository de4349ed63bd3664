import { around, isCrowded, type Operation, overlaps, type Period, type Terms } from './history.ts';

/** Rules that hold for a booking server under concurrent requests. */
export const rules = {
  order: 'There is one order in which every answer is true',
  kept: 'What was acknowledged is there until it is ended',
  alone: 'No time is held twice',
  back: 'What is free is on offer, and given back in time',
  bookable: 'What is taken is not on offer',
  told: 'What others do to an appointment is told once and in order',
} as const;

/** A broken rule with the operations that show it. */
export interface Violation {
  readonly rule: keyof typeof rules;
  readonly says: string;
  readonly operations: readonly Operation[];
}

/** The result for a history: its responses are consistent, contradict each other, or have too many possible orders. */
type HistoryResult =
  | { readonly kind: 'possible' }
  | { readonly kind: 'impossible'; readonly operations: readonly Operation[] }
  | { readonly kind: 'undecided' };

/** Limits of the judgement. */
export interface Bounds {
  /** Time after a release in which a booking may still be refused, in milliseconds. */
  readonly within: number;
  /** Duration of a hold, in milliseconds: at the end of each Schedule, one hold is left to expire. */
  readonly holds?: number;
  /** Maximum delay of a notification that was refused before, in milliseconds; default: a minute. */
  readonly told?: number;
  /** Maximum of states in the search of each part of a history. */
  readonly stateLimit: number;
}

export interface Held {
  readonly time: Period;
  readonly isBlock: boolean;
  readonly isOverbooked?: boolean;
}

/** The occupied times by appointment or block. Immutable: each step creates another. */
export type Calendar = ReadonlyMap<string, Held>;

const NEVER: Period = { start: 0, end: 0 };

const timesOf = ({ takes }: Operation): readonly Period[] => (takes ? [takes.time] : []);

/** The others that occupy a time or its buffers, except the appointment itself and the one that it replaces. */
function othersAt(
  calendar: Calendar,
  { takes, frees }: Operation,
  terms: Terms,
): { own: Period; others: readonly Held[] } {
  const own = around(takes?.time ?? NEVER, terms);
  const others = [...calendar].flatMap(([what, held]) =>
    what !== takes?.what && what !== frees && overlaps(held.isBlock ? held.time : around(held.time, terms), own)
      ? [held]
      : [],
  );
  return { own, others };
}

/** Whether an appointment may occupy its time: no block overlaps it, and the capacity suffices. */
export function mayTake(calendar: Calendar, operation: Operation, terms: Terms): boolean {
  if (!operation.takes || operation.takes.isBlock) {
    return true;
  }
  const { own, others } = othersAt(calendar, operation, terms);
  const times = others.map(({ time }) => around(time, terms));
  return others.every(({ isBlock }) => !isBlock) && !isCrowded([...times, own], terms.capacity);
}

/** Whether an appointment's time must be bookable: a lane is free, however the others are distributed. */
export function mustBeBookable(calendar: Calendar, operation: Operation, terms: Terms): boolean {
  const { others } = othersAt(calendar, operation, terms);
  return others.length < terms.capacity && others.every(({ isBlock }) => !isBlock);
}

/** Whether a booking must succeed in any lane: nobody else occupies any of its time. */
function mustGet(calendar: Calendar, operation: Operation, terms: Terms): boolean {
  return othersAt(calendar, operation, terms).others.length === 0;
}

/** The calendar after an operation; `undefined` if its response would be wrong at this point. */
function after(calendar: Calendar, operation: Operation, terms: Terms): Calendar | undefined {
  const { takes, frees, sees, outcome } = operation;
  if (outcome === 'refused') {
    return mustGet(calendar, operation, terms) ? undefined : calendar;
  }
  if (sees) {
    return calendar.has(sees.what) === sees.isThere ? calendar : undefined;
  }
  if (!mayTake(calendar, operation, terms)) {
    return undefined;
  }
  const next = new Map(calendar);
  next.delete(frees ?? '');
  if (takes) {
    next.set(takes.what, { time: takes.time, isBlock: takes.isBlock === true });
  }
  return next;
}

const keyOf = (calendar: Calendar): string =>
  [...calendar]
    .map(([what, { time }]) => `${what}@${time.start}-${time.end}`)
    .sort()
    .join();

const claimsOnly = ({ outcome, sees }: Operation): boolean => outcome === 'refused' || sees !== undefined;

/**
 * Searches an order in which all responses are true (linearizability). An operation takes effect at one moment between
 * its request and its response. Without a response, it takes effect at any later moment or never. Each state
 * (completed operations and calendar) is visited once.
 *
 * @see Wing and Gong, Testing and verifying concurrent objects (1993); Lowe, Testing for linearizability (2017)
 */
function search(history: readonly Operation[], terms: Terms, stateLimit: number): HistoryResult['kind'] {
  const operations = history.toSorted((operation, other) => operation.answered - other.answered);
  const seen = new Set<string>();
  const stack: { readonly done: Uint8Array; readonly calendar: Calendar }[] = [
    { done: new Uint8Array(operations.length), calendar: new Map() },
  ];
  for (let looked = 0; ; looked++) {
    const state = stack.pop();
    if (!state) {
      return 'impossible';
    }
    const { done, calendar } = state;
    const waiting = operations.flatMap((operation, index) => (done[index] ? [] : [{ operation, index }]));
    const first = Math.min(
      ...waiting.flatMap(({ operation }) => (operation.outcome === 'unknown' ? [] : operation.answered)),
    );
    if (first === Number.POSITIVE_INFINITY) {
      return 'possible';
    }
    if (looked >= stateLimit) {
      return 'undecided';
    }
    const steps = waiting.flatMap(({ operation, index }) => {
      const next = operation.sent <= first ? after(calendar, operation, terms) : undefined;
      return next ? [{ index, operation, next }] : [];
    });
    // An operation that changes nothing and is true now can always come next.
    const still = steps.find(({ operation }) => claimsOnly(operation));
    for (const { index, next } of still ? [still] : steps.reverse()) {
      const then = Uint8Array.from(done);
      then[index] = 1;
      const key = `${then} ${keyOf(next)}`;
      if (!seen.has(key)) {
        seen.add(key);
        stack.push({ done: then, calendar: next });
      }
    }
  }
}

/** Connected components of a relation that need not be transitive. */
function connected<T>(things: readonly T[], belong: (one: T, other: T) => boolean): T[][] {
  const groups: T[][] = [];
  for (const thing of things) {
    const own = groups.filter((group) => group.some((other) => belong(thing, other)));
    const rest = groups.filter((group) => !own.includes(group));
    groups.splice(0, groups.length, ...rest, [...own.flat(), thing]);
  }
  return groups;
}

const namesIn = ({ takes, frees, sees }: Operation): string[] =>
  [takes?.what, frees, sees?.what].flatMap((one) => one ?? []);

const byAppointment = (history: readonly Operation[]): Operation[][] =>
  connected(
    history.filter((operation) => operation.outcome !== 'refused'),
    (operation, other) => namesIn(operation).some((name) => namesIn(other).includes(name)),
  );

/** Reduces an impossible history by refusals and reads, then by whole appointments. */
function shortest(history: readonly Operation[], terms: Terms, stateLimit: number): readonly Operation[] {
  const isImpossible = (operations: readonly Operation[]): boolean =>
    search(operations, terms, stateLimit) === 'impossible';
  const acts = history.filter((operation) => !claimsOnly(operation));
  const claim = isImpossible(acts)
    ? undefined
    : history
        .filter(claimsOnly)
        .find((operation) => isImpossible([...acts.filter(({ sent }) => sent <= operation.answered), operation]));
  if (!claim && !isImpossible(acts)) {
    return history;
  }
  let left = claim ? [...acts.filter(({ sent }) => sent <= claim.answered), claim] : acts;
  const isOver = (group: readonly Operation[]): boolean =>
    claim?.outcome !== 'refused' ||
    (group.every(({ outcome, answered }) => outcome === 'done' && answered < claim.sent) &&
      group.every(({ takes }) => !takes || group.some(({ frees }) => frees === takes.what)));
  for (const group of byAppointment(left).reverse()) {
    const without = left.filter((operation) => !group.includes(operation));
    if (!group.includes(claim as Operation) && isOver(group) && isImpossible(without)) {
      left = without;
    }
  }
  return left.toSorted((operation, other) => operation.sent - other.sent);
}

/** Whether a refusal claims nothing: others requested the time since its bookable item was found, or shortly before. */
function isExcused(refusal: Operation, history: readonly Operation[], terms: Terms, within: number): boolean {
  const own = [...timesOf(refusal), ...(refusal.of ? [refusal.of] : [])].map((time) => around(time, terms));
  const since = refusal.found ?? refusal.sent;
  return history.some((operation) => {
    const isOver = operation.outcome === 'done' && operation.takes && !operation.frees && operation.answered < since;
    const isMeanwhile = operation.sent <= refusal.answered && since <= operation.answered + within;
    const times =
      operation.frees === undefined ? timesOf(operation) : [...timesOf(operation), ...freedBy(operation, history)];
    const isNear = times.some((time) => own.some((period) => overlaps(around(time, terms), period)));
    return operation !== refusal && !operation.sees && !isOver && isMeanwhile && isNear;
  });
}

const freedBy = ({ frees }: Operation, history: readonly Operation[]): Period[] =>
  history.flatMap(({ takes }) => (takes && takes.what === frees ? [takes.time] : []));

/**
 * Judges the history of one Schedule: is there an order in which all responses are true? The result is exact, or
 * `undecided` if there are too many orders. Independent parts are judged separately.
 */
export function checkHistory(
  history: readonly Operation[],
  terms: Terms,
  { within, stateLimit }: Bounds,
): HistoryResult {
  const judged = history.filter(
    (operation) => operation.outcome !== 'refused' || !isExcused(operation, history, terms, within),
  );
  const isNear = (operation: Operation, other: Operation): boolean =>
    namesIn(operation).some((name) => namesIn(other).includes(name)) ||
    timesOf(operation).some((time) =>
      timesOf(other).some((near) => overlaps(around(time, terms), around(near, terms))),
    );
  let isUndecided = false;
  for (const part of connected(judged, isNear)) {
    const kind = search(part, terms, stateLimit);
    if (kind === 'impossible') {
      return { kind, operations: shortest(part, terms, stateLimit) };
    }
    isUndecided ||= kind === 'undecided';
  }
  return { kind: isUndecided ? 'undecided' : 'possible' };
}
