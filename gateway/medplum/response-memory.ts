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
   * Begins a request. Its permits are released once it was carried out and its client has received the response or has
   * disconnected. A client that takes too long to receive it is disconnected.
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

/** Makes the memory of a gateway. A large request needs a permit of its client and one of the gateway until it has ended. */
export function createResponseMemory(limits: MemoryLimits): ResponseMemory {
  const { largeBytes, large, largeWaitMs, requestTimeoutMs } = limits;
  const waiting = Number.POSITIVE_INFINITY;
  const perClient = createClientPermits({
    running: Math.max(1, Math.floor(large / 2)),
    waiting,
    patienceMs: largeWaitMs,
  });
  const total = createClientPermits({ running: large, waiting, patienceMs: largeWaitMs });
  const current = new AsyncLocalStorage<State>();
  const takeBoth = async (client: string): Promise<(() => void) | undefined> => {
    const releaseOfClient = await perClient.take(client);
    const releaseOfAll = releaseOfClient && (await total.take(''));
    if (!releaseOfClient || !releaseOfAll) {
      releaseOfClient?.();
      return undefined;
    }
    return () => {
      releaseOfAll();
      releaseOfClient();
    };
  };
  const admit = async (state: State): Promise<boolean> => {
    state.permit ??= takeBoth(state.client);
    return (await state.permit) !== undefined;
  };
  return {
    hold: (client, sender) => {
      const state: State = { client, bytes: 0 };
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      sender.once('finish', end);
      sender.once('close', end);
      if (sender.closed) {
        end();
      }
      return {
        run: async (act) => {
          try {
            return await current.run(state, act);
          } finally {
            const deadline = setTimeout(() => sender.destroy(), requestTimeoutMs);
            void ended.then(async () => {
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
