import { useCallback, useState } from 'react';
import { ownKey } from './remembered.ts';

const positionOf = (key: string): string => `${ownKey('draft')}:${key}`;

function stored<T extends object>(key: string): Partial<T> {
  try {
    return JSON.parse(sessionStorage.getItem(positionOf(key)) ?? '{}');
  } catch {
    return {};
  }
}

/**
 * What is being typed. It outlives a conflict, a reload and signing in again of the same person, until it is sent or the
 * browser's tab is closed. Only what was typed is kept: the rest is as last loaded.
 *
 * @param key - says what it belongs to
 * @param initial - what stands there before anything is typed; as it is at first
 */
export function useDraft<T extends object>(key: string, initial: T) {
  const [loaded] = useState(initial);
  const [typed, setTyped] = useState<Partial<T>>(() => stored(key));
  const change = useCallback(
    (part: Partial<T>) =>
      setTyped((before) => {
        const next = { ...before, ...part };
        sessionStorage.setItem(positionOf(key), JSON.stringify(next));
        return next;
      }),
    [key],
  );
  const clear = useCallback(() => sessionStorage.removeItem(positionOf(key)), [key]);
  /** Forgets what was typed: the form is as it was loaded. */
  const reset = useCallback(() => {
    clear();
    setTyped({});
  }, [clear]);
  return { draft: { ...loaded, ...typed }, change, clear, reset, isTyped: Object.keys(typed).length > 0 };
}
