/** Which appointments have changed at the clinic, as far as the portal has heard. Times are milliseconds since 1970 UTC. */
export interface Changes {
  /** An appointment has changed. */
  readonly note: (appointment: string) => void;
  /** Something was missed: any appointment may have changed. */
  readonly noteAny: () => void;
  /** Whether an appointment may have changed since it was read. */
  readonly hasChanged: (appointment: string, readAt: number) => boolean;
}

/** How many appointments are remembered. */
const MOST = 5_000;

/**
 * Remembers which appointments have changed, in memory and bounded. Where something was missed or dropped, any appointment
 * that was read before that counts as one that may have changed.
 */
export function createChanges(now: () => number): Changes {
  /** Whether something that was read before this time has changed is not known. */
  let unknownBefore = now();
  const changedAt = new Map<string, number>();
  return {
    note(appointment) {
      changedAt.delete(appointment);
      changedAt.set(appointment, now());
      const [oldest] = changedAt;
      if (changedAt.size > MOST && oldest) {
        changedAt.delete(oldest[0]);
        unknownBefore = Math.max(unknownBefore, oldest[1] + 1);
      }
    },
    noteAny() {
      unknownBefore = now() + 1;
      changedAt.clear();
    },
    hasChanged: (appointment, readAt) =>
      readAt < unknownBefore || (changedAt.get(appointment) ?? Number.NEGATIVE_INFINITY) >= readAt,
  };
}
