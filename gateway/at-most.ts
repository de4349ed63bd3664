/**
 * Waits until all of what is under way has ended, and no longer than it may take.
 *
 * @param milliseconds - how long it may take
 * @param earlier - what is under way; if any of it fails, so does the wait
 */
export async function atMost(milliseconds: number, earlier: readonly Promise<void>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await Promise.race([Promise.all(earlier), late]);
  } finally {
    clearTimeout(timer);
  }
}
