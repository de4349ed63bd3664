import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Counts requests, and says whether they are too many. */
export type Count = ReturnType<FastifyInstance['createRateLimit']>;

/** Counts something of a visitor; returns whether it is too much. */
export async function isTooMuch(request: FastifyRequest, counts: readonly Count[]): Promise<boolean> {
  for (const count of counts) {
    const counted = await count(request);
    if (!counted.isAllowed && counted.isExceeded) {
      return true;
    }
  }
  return false;
}
