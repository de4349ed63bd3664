import type { Client, KitResponse, Sent } from '../client.ts';

/** Sources of nondeterminism. */
export interface World {
  /** Monotonic, in milliseconds. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
  /** From 0 to 1, reproducible by the seed. */
  random(): number;
}

const PAUSE = 100;

/** Polls until the value is right, at most `within` milliseconds; returns the last value. */
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

/** A seeded random number generator from 0 to 1 (Mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Rates of faults, from 0 to 1, and their longest delay in milliseconds. */
export interface Trouble {
  /** The request is delayed; others overtake it. */
  readonly late: number;
  /** The connection is cut before the response. */
  readonly cut: number;
  readonly repeated: number;
  readonly longest: number;
}

export const trouble: Trouble = { late: 0.3, cut: 0.06, repeated: 0.06, longest: 60 };

/** A faulty network between the parties and the server. */
export interface Network {
  /** Wraps a client; its `send` throws if there is no response. */
  of(client: Client): Client;
  /** Decides at random whether to send a request twice. */
  repeats(): boolean;
  calm(): void;
  rage(): void;
  /** Waits for all pending requests; returns how many since the last `rage` had no response or a 5xx status. */
  idle(): Promise<number>;
}

/** A network within this process. The server still carries out requests whose connection is cut. */
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
