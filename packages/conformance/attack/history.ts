/** A time, in milliseconds since 1970 UTC. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

/** What a calendar promises: how many appointments at a time, and minutes around each. */
export interface Terms {
  readonly capacity: number;
  readonly before: number;
  readonly after: number;
}

/** Something that one actor has asked for, and what it was told. */
export interface Operation {
  readonly actor: string;
  /** In words: `books 09:00–09:30`. */
  readonly does: string;
  /** The appointment or block that gets a time; a block takes it from all. */
  readonly takes?: { readonly what: string; readonly time: Period; readonly isBlock?: true };
  /** The appointment or block whose time is given back. */
  readonly frees?: string;
  /** What was read: whether it is there. */
  readonly sees?: { readonly what: string; readonly isThere: boolean };
  /** When the offer was found that it names: it may have gone since. */
  readonly found?: number;
  /** The whole time that was on offer there: what is taken may be a part of it. */
  readonly of?: Period;
  /** When it was sent and answered, in milliseconds of one clock. Without an answer it may happen at any time after it was sent. */
  readonly sent: number;
  readonly answered: number;
  /** `refused`: because the time is taken. Refusals for other reasons are not recorded. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  /** What the actor was told: status and code. */
  readonly told: string;
}

const MINUTE = 60_000;

export const overlaps = (period: Period, other: Period): boolean =>
  period.start < other.end && other.start < period.end;

/** A time with the minutes that its service needs around it. */
export const around = ({ start, end }: Period, { before, after }: Terms): Period => ({
  start: start - before * MINUTE,
  end: end + after * MINUTE,
});

/** Whether so many times have a moment in common. */
export function isCrowded(times: readonly Period[], most: number): boolean {
  return times.some(
    (period) => times.filter((other) => other.start <= period.start && period.start < other.end).length > most,
  );
}
