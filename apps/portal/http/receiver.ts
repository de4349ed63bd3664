import { timingSafeEqual } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsync } from 'fastify';
import type { PortalUpdates } from '../updates/updates.ts';
import { visitorLimits } from './limits.ts';

/** The largest notification, in bytes; an id-only notification has about two thousand. */
const MAX_BYTES = 64 * 1024;

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

/** `POST /notifications`. The body of a request without the secret of the portal's Subscription is not read. */
export function receiver(updates: PortalUpdates, secret: string): FastifyPluginAsync {
  return async (scope) => {
    await scope.register(rateLimit, { max: visitorLimits.notifications, timeWindow: '1 minute' });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: MAX_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    scope.addHook('onRequest', async ({ headers }, reply) => {
      if (!isSame(headers.authorization ?? '', `Bearer ${secret}`)) {
        return reply.code(401).send();
      }
    });
    scope.post('/notifications', async ({ body }, reply) => reply.code(updates.take(parsed(body)) ? 204 : 400).send());
  };
}
