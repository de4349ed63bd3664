import { AsyncLocalStorage } from 'node:async_hooks';
import { createClientPermits } from '../admission/client-permits.ts';

/** How much of Medplum's answers is held in memory. */
export interface MemoryLimits {
  /** Bytes of one request's answers beyond which it is large. */
  readonly largeBytes: number;
  /** Large requests of all clients that are carried out at the same time; one client has half of them. */
  readonly large: number;
  /** How long a large request waits for others, in milliseconds. */
  readonly largeWaitMs: number;
  /** How long a client may take to receive an answer, in milliseconds: as long as to send a request. */
  readonly requestTimeoutMs: number;
}

/** The stream of a response to a client. */
interface Sender {
  readonly closed: boolean;
  once(event: 'finish' | 'close', listener: () => void): unknown;
  destroy(): unknown;
}

/** One request of a client, from its arrival until its answer has been sent. */
interface Held {
  readonly run: <T>(act: () => Promise<T>) => Promise<T>;
}

/**
 * Keeps the answers that are in memory at the same time bounded: a request whose answers from Medplum grow large waits for
 * other large ones, of its client and of all, until these have been sent. The others are not touched.
 */
export interface ResponseMemory {
  /**
   * Begins a request. What it holds is given back once it was carried out and its client has received the answer, or has
   * gone: one that takes too long to receive it is cut off.
   */
  readonly hold: (client: string, sender: Sender) => Held;
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
  permit?: Promise<(() => void) | undefined>;
}

export function createResponseMemory(limits: MemoryLimits): ResponseMemory {
  const { largeBytes, large, largeWaitMs, requestTimeoutMs } = limits;
  const waiting = Number.POSITIVE_INFINITY;
  const own = createClientPermits({ running: Math.max(1, Math.floor(large / 2)), waiting, patienceMs: largeWaitMs });
  const total = createClientPermits({ running: large, waiting, patienceMs: largeWaitMs });
  const current = new AsyncLocalStorage<State>();
  const take = async (client: string): Promise<(() => void) | undefined> => {
    const first = await own.take(client);
    const second = first && (await total.take(''));
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
    state.permit ??= take(state.client);
    return (await state.permit) !== undefined;
  };
  return {
    hold: (client, sender) => {
      const state: State = { client, bytes: 0 };
      const { promise: left, resolve: leave } = Promise.withResolvers<void>();
      sender.once('finish', leave);
      sender.once('close', leave);
      if (sender.closed) {
        leave();
      }
      return {
        run: async (act) => {
          try {
            return await current.run(state, act);
          } finally {
            const deadline = setTimeout(() => sender.destroy(), requestTimeoutMs);
            void left.then(async () => {
              clearTimeout(deadline);
              (await state.permit)?.();
            });
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
