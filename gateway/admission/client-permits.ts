/** How many requests of one client are carried out at the same time, and how many wait. */
interface ClientPermitLimits {
  readonly running: number;
  readonly waiting: number;
  /** The longest that a request waits, in milliseconds. */
  readonly patienceMs: number;
}

/** Gives each client its own permits, so that no client can use up those of the others. */
export interface ClientPermits {
  /**
   * Takes a permit as soon as one is free.
   *
   * @returns a function that releases the permit, to be called once; `undefined` if too many requests are waiting or it
   *   took too long
   */
  readonly take: (client: string) => Promise<(() => void) | undefined>;
}

interface ClientState {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Makes the permits of all clients; clients without requests take no memory. */
export function createClientPermits({ running, waiting, patienceMs }: ClientPermitLimits): ClientPermits {
  const clients = new Map<string, ClientState>();
  const stateOf = (client: string): ClientState => {
    const state = clients.get(client) ?? { running: 0, waiting: new Set() };
    clients.set(client, state);
    return state;
  };
  const releaseOf = (client: string, state: ClientState) => (): void => {
    const [handOver] = state.waiting;
    if (handOver) {
      state.waiting.delete(handOver);
      handOver();
      return;
    }
    state.running--;
    if (state.running === 0) {
      clients.delete(client);
    }
  };
  return {
    take: async (client) => {
      const state = stateOf(client);
      if (state.running < running) {
        state.running++;
        return releaseOf(client, state);
      }
      if (state.waiting.size >= waiting) {
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const handOver = (): void => resolve(true);
      state.waiting.add(handOver);
      const timer = setTimeout(() => resolve(false), patienceMs);
      const hasPermit = await promise;
      clearTimeout(timer);
      state.waiting.delete(handOver);
      return hasPermit ? releaseOf(client, state) : undefined;
    },
  };
}
