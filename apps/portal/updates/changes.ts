/** Changed appointments of which the portal was notified. Times are milliseconds since 1970 UTC. */
export interface Changes {
  readonly note: (appointment: string) => void;
  /** A notification was missed: any appointment may have changed. */
  readonly noteAny: () => void;
  readonly hasChanged: (appointment: string, readAt: number) => boolean;
}

const MAX = 5_000;

/** In memory and bounded. After a missed or dropped change, all earlier reads may be outdated. */
export function createChanges(now: () => number): Changes {
  /** Appointments that were read before this time may have changed. */
  let unknownBefore = now();
  const changedAt = new Map<string, number>();
  return {
    note(appointment) {
      changedAt.delete(appointment);
      changedAt.set(appointment, now());
      const [oldest] = changedAt;
      if (changedAt.size > MAX && oldest) {
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
