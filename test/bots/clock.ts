/** Lets time pass at once, for code that asks `Date.now`. */
export type Skip = (milliseconds: number) => void;

/** Lets an action believe that time has passed, whenever it is told so; what is stored meanwhile has the real time. */
export async function withClock<T>(act: (skip: Skip) => Promise<T>): Promise<T> {
  const { now } = Date;
  let ahead = 0;
  Date.now = () => now() + ahead;
  try {
    return await act((milliseconds) => {
      ahead += milliseconds;
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
