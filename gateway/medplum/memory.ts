/** Remembers values for some time, by key. */
interface Memory<T> {
  readonly get: (key: string) => T | undefined;
  readonly set: (key: string, value: T) => void;
  readonly forget: (key: string) => void;
}

/** A cache with a maximum size and age: the least recently used value goes first. `get` does not extend the age. */
export function createMemory<T>(size: number, maxAgeMs: number, now: () => number): Memory<T> {
  const known = new Map<string, { value: T; until: number }>();
  // One iterator, kept: a new one would walk again over the gaps that deleted keys leave in the Map.
  const oldest = known.keys();
  const keep = (key: string, entry: { value: T; until: number }): void => {
    known.delete(key);
    known.set(key, entry);
    if (known.size > size) {
      known.delete(oldest.next().value ?? '');
    }
  };
  return {
    get: (key) => {
      const entry = known.get(key);
      // After the clock was set back, the age of an entry is unknown.
      if (!entry || entry.until <= now() || entry.until > now() + maxAgeMs) {
        known.delete(key);
        return undefined;
      }
      keep(key, entry);
      return entry.value;
    },
    set: (key, value) => keep(key, { value, until: now() + maxAgeMs }),
    forget: (key) => void known.delete(key),
  };
}
