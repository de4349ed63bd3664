/**
 * Waits for an action, but no longer than a limit.
 *
 * @param limit - in milliseconds
 * @param late - what it is resolved with if the action takes longer; if the action fails before, so does the wait
 */
export async function within<T>(limit: number, action: Promise<T>, late: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(late), limit);
  return Promise.race([action, promise]).finally(() => clearTimeout(timer));
}
