/**
 * Processes items in groups of `groupSize`, one group after the other. A failure does not stop the other items.
 * @returns the results, in the order of the items
 * @throws Error the first failure, after all items are processed
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  groupSize: number,
  act: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  for (let index = 0; index < items.length; index += groupSize) {
    for (const settled of await Promise.allSettled(items.slice(index, index + groupSize).map(act))) {
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
