/** How many requests of one client are carried out at the same time, and how many wait. */
interface PlaceLimits {
  readonly running: number;
  readonly waiting: number;
  /** The longest that a request waits, in milliseconds. */
  readonly patienceMs: number;
}

/** Gives each client its own places, so that no client can take those of the others. */
interface ClientPermits {
  /**
   * Takes a place as soon as one is free.
   *
   * @param client - name of the client
   * @returns a function that gives the place back, to be called once; `undefined` if too many requests are waiting or it
   *   took too long
   */
  readonly take: (client: string) => Promise<(() => void) | undefined>;
}

interface Places {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Makes the places of all clients; clients without requests take no memory. */
export function createClientPermits({ running, waiting, patienceMs }: PlaceLimits): ClientPermits {
  const clients = new Map<string, Places>();
  const placesOf = (client: string): Places => {
    const known = clients.get(client) ?? { running: 0, waiting: new Set() };
    clients.set(client, known);
    return known;
  };
  const giveBack = (client: string, places: Places) => (): void => {
    const [next] = places.waiting;
    if (next) {
      places.waiting.delete(next);
      next();
      return;
    }
    places.running--;
    if (places.running === 0) {
      clients.delete(client);
    }
  };
  return {
    take: async (client) => {
      const places = placesOf(client);
      if (places.running < running) {
        places.running++;
        return giveBack(client, places);
      }
      if (places.waiting.size >= waiting) {
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const turn = (): void => resolve(true);
      places.waiting.add(turn);
      const timer = setTimeout(() => resolve(false), patienceMs);
      const isMine = await promise;
      clearTimeout(timer);
      places.waiting.delete(turn);
      return isMine ? giveBack(client, places) : undefined;
    },
  };
}
