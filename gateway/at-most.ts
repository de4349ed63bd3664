/**
 * Waits until everything that is under way has ended, but no longer than the limit.
 *
 * @param milliseconds - the limit
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
