/** A place where two servers have answered differently; what is absent is `undefined`. */
export interface Mismatch {
  /** Where in the exchange: `answer.body.entry[0].resource.status`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

function fields(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) {
    return undefined;
  }
  const isList = Array.isArray(value);
  return new Map(Object.entries(value).map(([key, inner]) => [isList ? `[${key}]` : `.${key}`, inner]));
}

/**
 * Compares two values of JSON.
 *
 * @param path - of both of them
 * @returns the innermost places where they differ
 */
export function mismatches(recorded: unknown, replayed: unknown, path: string): Mismatch[] {
  const [left, right] = [fields(recorded), fields(replayed)];
  if (!left || !right || Array.isArray(recorded) !== Array.isArray(replayed)) {
    return Object.is(recorded, replayed) ? [] : [{ path, recorded, replayed }];
  }
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((key) =>
    mismatches(left.get(key), right.get(key), path + key),
  );
}
