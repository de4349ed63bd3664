import { useCallback, useEffect, useRef, useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';

/** What was loaded, or why it was not. What was loaded before stays while it is loaded again. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly refusal: Refusal | undefined;
  /** When it was loaded, in milliseconds since 1970 UTC. */
  readonly at: number | undefined;
  readonly reload: () => Promise<void>;
}

/**
 * Loads something, and loads it anew when its key changes. An answer that comes after the key has changed is dropped, and so
 * is the answer to a request that was sent before the one whose answer is shown.
 *
 * @param key - says what is loaded
 * @param load - its signal ends a request whose answer would be dropped
 */
export function useLoaded<T extends object>(
  key: string,
  load: (signal: AbortSignal) => Promise<T | Refusal>,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; refusal?: Refusal; at?: number }>({ key });
  const current = useRef({ key, load });
  current.current = { key, load };
  const turns = useRef({ begun: 0, shown: 0 });
  const ending = useRef(new AbortController());
  const reload = useCallback(async () => {
    const asked = current.current.key;
    turns.current.begun += 1;
    const turn = turns.current.begun;
    const answer = await current.current.load(ending.current.signal);
    if (asked !== current.current.key || turn < turns.current.shown) {
      return;
    }
    turns.current.shown = turn;
    setState((before) => {
      const kept = before.key === asked ? before : { key: asked };
      return isRefusal(answer) ? { ...kept, refusal: answer } : { key: asked, value: answer as T, at: Date.now() };
    });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is loaded.
  useEffect(() => {
    ending.current = new AbortController();
    void reload();
    return () => ending.current.abort();
  }, [key, reload]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    refusal: isCurrent ? state.refusal : undefined,
    at: isCurrent ? state.at : undefined,
    reload,
  };
}

/** How often a page asks whether something has changed, in milliseconds. */
const PAUSE = 4_000;

/** After how many unanswered questions the page counts as behind. */
const LOST = 2;

/**
 * Asks again and again, while the page can be seen, how something stands.
 *
 * @param key - says what is watched
 * @param look - returns how it stands now, or `undefined` if that is not known
 * @param onSeen - called each time with how it stands; the next question waits for it
 * @param pause - between two questions, in milliseconds
 * @returns whether the last questions have remained unanswered
 */
export function useWatch<Seen>(
  key: string,
  look: () => Promise<Seen | undefined>,
  onSeen: (seen: Seen) => Promise<void>,
  pause = PAUSE,
): boolean {
  const [isBehind, setBehind] = useState(false);
  const current = useRef({ look, onSeen });
  current.current = { look, onSeen };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another key is watched from the beginning.
  useEffect(() => {
    let isOver = false;
    let lost = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), pause);
    };
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      const isSeen = !document.hidden;
      const seen = isSeen ? await current.current.look() : undefined;
      if (isOver) {
        return;
      }
      if (isSeen) {
        lost = seen === undefined ? lost + 1 : 0;
        setBehind(lost >= LOST);
      }
      if (seen !== undefined) {
        await current.current.onSeen(seen);
      }
      if (!isOver) {
        wait();
      }
    };
    const askAtOnce = (): void => void (document.hidden || ask());
    document.addEventListener('visibilitychange', askAtOnce);
    wait();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', askAtOnce);
    };
  }, [key]);
  return isBehind;
}
