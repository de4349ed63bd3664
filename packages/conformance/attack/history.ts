/** A period, in milliseconds since 1970 UTC. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

/** The terms of a Schedule: capacity, and buffers in minutes before and after an appointment. */
export interface Terms {
  readonly capacity: number;
  readonly before: number;
  readonly after: number;
}

/** A request of one actor, and its response. */
export interface Operation {
  readonly actor: string;
  /** `books 09:00–09:30` */
  readonly does: string;
  /** The appointment or block that occupies a time; a block occupies all lanes. */
  readonly takes?: { readonly what: string; readonly time: Period; readonly isBlock?: true };
  /** The appointment or block whose time is released. */
  readonly frees?: string;
  /** The resource that was read, and whether it exists. */
  readonly sees?: { readonly what: string; readonly isThere: boolean };
  readonly found?: number;
  /** The whole time of the bookable item; the request may name a part of it. */
  readonly of?: Period;
  /** Milliseconds of one clock. Without a response, it may take effect at any time after `sent`. */
  readonly sent: number;
  readonly answered: number;
  /** `refused`: the time is not free. Other refusals are not recorded. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  readonly responseText: string;
}

const MINUTE = 60_000;

export const overlaps = (period: Period, other: Period): boolean =>
  period.start < other.end && other.start < period.end;

/** A period with its buffers. */
export const around = ({ start, end }: Period, { before, after }: Terms): Period => ({
  start: start - before * MINUTE,
  end: end + after * MINUTE,
});

/** Whether more than `most` periods overlap at one moment. */
export function isCrowded(times: readonly Period[], most: number): boolean {
  return times.some(
    (period) => times.filter((other) => other.start <= period.start && period.start < other.end).length > most,
  );
}
