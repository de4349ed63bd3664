import { until } from '../lib/until.ts';

/** Lets time pass at once, for code that asks `Date.now`. */
export type Skip = (milliseconds: number) => void;

/** Lets time stand still for an action but for what it skips; what Medplum stores meanwhile has the real time. */
export async function withClock<T>(act: (skip: Skip) => Promise<T>): Promise<T> {
  const { now } = Date;
  let time = now();
  Date.now = () => time;
  try {
    return await act((milliseconds) => {
      time += milliseconds;
    });
  } finally {
    Date.now = now;
  }
}

/** Does something so many milliseconds later. */
export const later = <T>(milliseconds: number, act: () => Promise<T>): Promise<T> =>
  withClock((skip) => {
    skip(milliseconds);
    return act();
  });

/**
 * Half an hour before a midnight (UTC), lets it be half an hour later for all that runs in this process: tests that let
 * minutes pass let no midnight pass by chance.
 *
 * @returns what sets the clock right again
 */
export function passMidnight(): () => void {
  const [half, real, { now }] = [30 * 60_000, Date, Date];
  if (now() % (48 * half) > 47 * half) {
    const later = () => now() + half;
    globalThis.Date = new Proxy(real, {
      construct: (target, given) => Reflect.construct(target, given.length > 0 ? given : [later()]),
    });
    Date.now = later;
  }
  return () => {
    globalThis.Date = real;
    Date.now = now;
  };
}

/** Waits until the clock goes on, so that what is written next is later than all before. */
export async function nextMoment(): Promise<void> {
  const now = Date.now();
  await until(() => Date.now() > now);
}

/**
 * Runs an action while the clock is ahead by so many milliseconds, which the action may change; pauses of a random
 * length have none.
 */
export async function ahead<T>(clock: { milliseconds: number }, act: () => Promise<T>): Promise<T> {
  const { now } = Date;
  const { random } = Math;
  Date.now = () => now() + clock.milliseconds;
  Math.random = () => 0;
  try {
    return await act();
  } finally {
    Date.now = now;
    Math.random = random;
  }
}
