import { AsyncLocalStorage } from 'node:async_hooks';
import { createClientPlaces } from '../admission/client-places.ts';

/** How much of Medplum's answers is held in memory. */
export interface MemoryLimits {
  /** Bytes of one request's answers beyond which it is large. */
  readonly largeBytes: number;
  /** Large requests of one client that are carried out at the same time. */
  readonly largePerClient: number;
  /** Large requests of all clients that are carried out at the same time. */
  readonly large: number;
  /** How long a large request waits for others, in milliseconds. */
  readonly placeMs: number;
}

/** One request of a client, from its arrival until its answer has been sent. */
interface Held {
  readonly run: <T>(act: () => Promise<T>) => Promise<T>;
  /** Gives back what the request holds; further calls do nothing. */
  readonly release: () => void;
}

/**
 * Keeps the answers that are in memory at the same time bounded: a request whose answers from Medplum grow large waits for
 * other large ones, of its client and of all, until these have been sent. The others are not touched.
 */
export interface AnswerMemory {
  readonly hold: (client: string) => Held;
  /**
   * Counts bytes that were read for the request that is being carried out.
   *
   * @returns false if they may not be read: other large requests took too long
   */
  readonly grow: (bytes: number) => Promise<boolean>;
  /** The bytes that were read for the request that is being carried out. */
  readonly read: () => number;
}

interface State {
  readonly client: string;
  bytes: number;
  place?: Promise<(() => void) | undefined>;
  isOver: boolean;
}

export function createAnswerMemory({ largeBytes, largePerClient, large, placeMs }: MemoryLimits): AnswerMemory {
  const waiting = Number.POSITIVE_INFINITY;
  const own = createClientPlaces({ running: largePerClient, waiting, patienceMs: placeMs });
  const all = createClientPlaces({ running: large, waiting, patienceMs: placeMs });
  const current = new AsyncLocalStorage<State>();
  const take = async (client: string): Promise<(() => void) | undefined> => {
    const first = await own.take(client);
    const second = first && (await all.take(''));
    if (!first || !second) {
      first?.();
      return undefined;
    }
    return () => {
      second();
      first();
    };
  };
  const admit = async (state: State): Promise<boolean> => {
    state.place ??= take(state.client);
    return (await state.place) !== undefined;
  };
  return {
    hold: (client) => {
      const state: State = { client, bytes: 0, isOver: false };
      return {
        run: (act) => current.run(state, act),
        release: () => {
          if (!state.isOver) {
            state.isOver = true;
            void state.place?.then((giveBack) => giveBack?.());
          }
        },
      };
    },
    grow: async (bytes) => {
      const state = current.getStore();
      if (!state) {
        return true;
      }
      state.bytes += bytes;
      return state.bytes <= largeBytes || admit(state);
    },
    read: () => current.getStore()?.bytes ?? 0,
  };
}
