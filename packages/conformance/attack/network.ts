import type { Client, KitResponse, Sent } from '../client.ts';

/** What is not the same at every run. */
export interface World {
  /** Milliseconds; they only grow. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
  /** From 0 to 1; the same seed gives the same numbers. */
  random(): number;
}

/** The pause between two looks at something that takes a while, in milliseconds. */
const PAUSE = 100;

/** Looks again and again until what is seen is right, or should have been: milliseconds. */
export async function until<T>(
  { now, wait }: Pick<World, 'now' | 'wait'>,
  look: () => Promise<T>,
  isRight: (seen: T) => boolean,
  within: number,
): Promise<T> {
  const end = now() + within;
  for (;;) {
    const seen = await look();
    if (isRight(seen) || now() >= end) {
      return seen;
    }
    await wait(PAUSE);
  }
}

/** Numbers from 0 to 1, the same for the same seed (Mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How often something happens to a request, from 0 to 1, and how long it may take, in milliseconds. */
export interface Trouble {
  /** The request arrives late: others overtake it. */
  readonly late: number;
  /** The connection breaks before the answer is there. */
  readonly cut: number;
  /** The request arrives twice. */
  readonly repeated: number;
  readonly longest: number;
}

export const trouble: Trouble = { late: 0.3, cut: 0.06, repeated: 0.06, longest: 60 };

/** What a network between the actors and the server makes of requests. */
export interface Network {
  /** A client behind this network; it throws if there is no answer. */
  of(client: Client): Client;
  /** Whether a request is to be sent twice. */
  repeats(): boolean;
  /** From now on everything arrives. */
  calm(): void;
  /** From now on it does as before. */
  rage(): void;
  /**
   * Waits until nothing is under way.
   *
   * @returns how many requests the server did not answer, or answered with an error of its own, since it last raged
   */
  idle(): Promise<number>;
}

/** A network in this process, in front of the server. What it cuts off the server still carries out. */
export function networkOf({ random, wait }: World, { late, cut, repeated, longest }: Trouble): Network {
  let isCalm = true;
  let failed = 0;
  const underWay = new Set<Promise<KitResponse>>();
  const happens = (rate: number): boolean => !isCalm && random() < rate;

  async function pass(client: Client, request: Sent): Promise<KitResponse> {
    const answering = client.send(request);
    underWay.add(answering);
    try {
      const response = await answering;
      failed += response.status >= 500 ? 1 : 0;
      return response;
    } catch (error) {
      failed += 1;
      throw error;
    } finally {
      underWay.delete(answering);
    }
  }

  async function send(client: Client, request: Sent): Promise<KitResponse> {
    if (happens(late)) {
      await wait(random() * longest);
    }
    const answering = pass(client, request);
    if (!happens(cut)) {
      return answering;
    }
    const broken = wait(random() * longest).then(() => Promise.reject(new Error('the connection broke')));
    return Promise.race([answering, broken]);
  }

  return {
    of: (client) => ({ ...client, send: (request) => send(client, request) }),
    repeats: () => happens(repeated),
    calm() {
      isCalm = true;
    },
    rage() {
      isCalm = false;
      failed = 0;
    },
    async idle() {
      await Promise.allSettled(underWay);
      return failed;
    },
  };
}
