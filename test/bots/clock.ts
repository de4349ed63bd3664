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
