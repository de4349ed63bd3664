import { setTimeout } from 'node:timers/promises';

/** How often a request that meets the server's rate limit is sent again; each wait is a minute at most. */
const ATTEMPTS = 5;

/**
 * The server counts its limits by the minute: a minute in seconds, with one to spare. Medplum blocks a client for as long
 * again if it asks before the time is over.
 */
const MINUTE = 61;

/** How many seconds to wait, from Medplum's header `RateLimit`, for example `"fhirInteractions";r=0;t=17`. */
export function secondsUntilReset(header: string | null): number {
  const waits = [...(header ?? '').matchAll(/;r=0;t=(\d+)/g)].map(([, seconds]) => Number(seconds));
  return Math.min(waits.length > 0 ? Math.max(...waits) + 1 : MINUTE, MINUTE);
}

/** Waits for the limits to be reset, and says so, once for each wait. */
async function waitForReset(seconds: number): Promise<void> {
  console.error(`The server's rate limit is reached; continuing in ${seconds} seconds.`);
  await setTimeout(seconds * 1000);
}

/** A request answered with 429 was not carried out: it is sent again when the limit is reset. */
export const fetchWithinRateLimit: typeof fetch = async (input, init) => {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(input, init);
    if (response.status !== 429 || attempt === ATTEMPTS) {
      return response;
    }
    await waitForReset(secondsUntilReset(response.headers.get('ratelimit')));
  }
};

/** An answer to an entry of a batch. */
type Answer = { readonly response?: { readonly status?: string } };

/**
 * Runs entries, and runs those that hit the rate limit again after a while: in a batch each entry has an answer of its own.
 *
 * @param run - answers entries in their order
 */
export async function runWithinRateLimit<E, A extends Answer>(
  entries: readonly E[],
  run: (entries: E[]) => Promise<A[]>,
  wait: () => Promise<void> = () => waitForReset(MINUTE),
): Promise<A[]> {
  const answers = await run([...entries]);
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const limited = answers.flatMap(({ response }, index) => (response?.status?.startsWith('429') ? [index] : []));
    if (limited.length === 0) {
      break;
    }
    await wait();
    const repeated = await run(limited.flatMap((index) => entries[index] ?? []));
    for (const [position, index] of limited.entries()) {
      const answer = repeated[position];
      if (answer) {
        answers[index] = answer;
      }
    }
  }
  return answers;
}
