/**
 * Processes items with limited concurrency. A failure does not stop the other items.
 * @param atOnce - how many at the same time
 * @returns the results, in the order of the items
 * @throws Error the first failure, after all items are processed
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  atOnce: number,
  act: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  for (let index = 0; index < items.length; index += atOnce) {
    for (const settled of await Promise.allSettled(items.slice(index, index + atOnce).map(act))) {
      if (settled.status === 'fulfilled') {
        results.push(settled.value);
      } else {
        failures.push(settled.reason);
      }
    }
  }
  if (failures.length > 0) {
    throw failures[0];
  }
  return results;
}
