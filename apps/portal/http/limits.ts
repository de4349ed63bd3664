import type { FastifyInstance, FastifyRequest } from 'fastify';

/** A rate limit: counts a request and returns whether the limit is exceeded. */
export type Count = ReturnType<FastifyInstance['createRateLimit']>;

/** Counts a request in all limits until one is exceeded; returns whether one is. */
export async function isTooMuch(request: FastifyRequest, counts: readonly Count[]): Promise<boolean> {
  for (const count of counts) {
    const counted = await count(request);
    if (!counted.isAllowed && counted.isExceeded) {
      return true;
    }
  }
  return false;
}
