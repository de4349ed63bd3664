import { afterAll } from '@jest/globals';

const endings: (() => unknown)[] = [];

/** Keeps in mind what must be ended after the last test of this file, whether its tests pass or not; the latest first. */
export function atEnd(end: () => unknown): void {
  endings.push(end);
}

afterAll(async () => {
  const failures: unknown[] = [];
  for (const end of endings.splice(0).reverse()) {
    await Promise.resolve()
      .then(end)
      .catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, 'Not everything that this file has started could be ended.');
  }
});
