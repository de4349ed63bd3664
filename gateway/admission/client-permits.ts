/** How many requests of one client are carried out at the same time, and how many wait. */
interface ClientPermitLimits {
  readonly running: number;
  readonly waiting: number;
  /** The longest that a request waits, in milliseconds. */
  readonly patienceMs: number;
}

/** Gives each client its own places, so that no client can take those of the others. */
export interface ClientPermits {
  /**
   * Takes a place as soon as one is free.
   *
   * @param client - name of the client
   * @returns a function that gives the place back, to be called once; `undefined` if too many requests are waiting or it
   *   took too long
   */
  readonly take: (client: string) => Promise<(() => void) | undefined>;
}

interface ClientState {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Makes the places of all clients; clients without requests take no memory. */
export function createClientPermits({ running, waiting, patienceMs }: ClientPermitLimits): ClientPermits {
  const clients = new Map<string, ClientState>();
  const stateOf = (client: string): ClientState => {
    const known = clients.get(client) ?? { running: 0, waiting: new Set() };
    clients.set(client, known);
    return known;
  };
  const giveBack = (client: string, state: ClientState) => (): void => {
    const [next] = state.waiting;
    if (next) {
      state.waiting.delete(next);
      next();
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
        return giveBack(client, state);
      }
      if (state.waiting.size >= waiting) {
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const turn = (): void => resolve(true);
      state.waiting.add(turn);
      const timer = setTimeout(() => resolve(false), patienceMs);
      const isMine = await promise;
      clearTimeout(timer);
      state.waiting.delete(turn);
      return isMine ? giveBack(client, state) : undefined;
    },
  };
}
