import { useCallback, useState } from 'react';

const PREFIX = 'front-desk-draft:';

function stored<T extends object>(key: string, empty: T): T {
  try {
    return { ...empty, ...JSON.parse(sessionStorage.getItem(PREFIX + key) ?? '{}') };
  } catch {
    return empty;
  }
}

/**
 * What somebody is typing. It outlives a conflict, a reload and signing in again, until it is sent or the browser's tab is
 * closed.
 *
 * @param key - says what it belongs to
 */
export function useDraft<T extends object>(key: string, empty: T) {
  const [draft, setDraft] = useState<T>(() => stored(key, empty));
  const change = useCallback(
    (part: Partial<T>) =>
      setDraft((before) => {
        const next = { ...before, ...part };
        sessionStorage.setItem(PREFIX + key, JSON.stringify(next));
        return next;
      }),
    [key],
  );
  const clear = useCallback(() => sessionStorage.removeItem(PREFIX + key), [key]);
  return { draft, change, clear };
}
