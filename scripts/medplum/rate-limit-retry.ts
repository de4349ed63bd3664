import { setTimeout } from 'node:timers/promises';

/** Maximum number of attempts under the server's rate limit. Each wait is at most a minute. */
const ATTEMPTS = 5;

/**
 * The server counts its limits by the minute: 60 seconds and one to spare. An earlier request makes Medplum block the
 * client for the same time again.
 */
const MINUTE = 61;

/** Seconds to wait, from Medplum's header `RateLimit`, for example `"fhirInteractions";r=0;t=17`. */
export function secondsUntilReset(header: string | null): number {
  const waits = [...(header ?? '').matchAll(/;r=0;t=(\d+)/g)].map(([, seconds]) => Number(seconds));
  return Math.min(waits.length > 0 ? Math.max(...waits) + 1 : MINUTE, MINUTE);
}

async function waitForReset(seconds: number): Promise<void> {
  console.error(`The server's rate limit is reached; continuing in ${seconds} seconds.`);
  await setTimeout(seconds * 1000);
}

/** A request with the response 429 was not carried out. It is repeated after the reset of the limit. */
export const fetchWithinRateLimit: typeof fetch = async (input, init) => {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(input, init);
    if (response.status !== 429 || attempt === ATTEMPTS) {
      return response;
    }
    await waitForReset(secondsUntilReset(response.headers.get('ratelimit')));
  }
};

type Answer = { readonly response?: { readonly status?: string } };

/**
 * Runs entries of a batch, and repeats those that hit the rate limit: each entry has a separate response.
 *
 * @param run - returns the responses in the order of the entries
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
