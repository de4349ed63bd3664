import { useCallback, useState } from 'react';
import { ownKey } from './remembered.ts';

const draftKeyOf = (key: string): string => `${ownKey('draft')}:${key}`;

function stored<T extends object>(key: string): Partial<T> {
  try {
    return JSON.parse(sessionStorage.getItem(draftKeyOf(key)) ?? '{}');
  } catch {
    return {};
  }
}

/**
 * Typed text, which outlives a conflict, a reload and a new sign-in of the same person. It is kept until it is sent or
 * the browser's tab is closed. Other fields have the loaded values; later changes of `initial` are ignored.
 */
export function useDraft<T extends object>(key: string, initial: T) {
  const [loaded] = useState(initial);
  const [typed, setTyped] = useState<Partial<T>>(() => stored(key));
  const change = useCallback(
    (part: Partial<T>) =>
      setTyped((before) => {
        const next = { ...before, ...part };
        sessionStorage.setItem(draftKeyOf(key), JSON.stringify(next));
        return next;
      }),
    [key],
  );
  const clear = useCallback(() => sessionStorage.removeItem(draftKeyOf(key)), [key]);
  const reset = useCallback(() => {
    clear();
    setTyped({});
  }, [clear]);
  return { draft: { ...loaded, ...typed }, change, clear, reset, isTyped: Object.keys(typed).length > 0 };
}
