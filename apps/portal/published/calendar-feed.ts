import { createHash } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { isObject } from '../../../core/fhir/resource.ts';
import { addressGroup, addressNetwork, PER_NETWORK } from '../../../packages/web/address-group.ts';
import { isRefusal } from '../fhir/client.ts';
import { isTooMuch, visitorLimits } from '../http/limits.ts';
import type { Portal } from '../portal.ts';

const file = /^([A-Za-z0-9-]{1,64}\.[0-9a-f]{64})\.ics$/;

/** Returns the calendar, or the HTTP status of the failure. No cache: a revoked link ends at once. */
async function read({ service }: Portal, name: string): Promise<string | 404 | 503> {
  const [, token] = file.exec(name) ?? [];
  const found = token === undefined ? undefined : await service.feed(token);
  if (!found || isRefusal(found)) {
    return found && found.status !== 404 ? 503 : 404;
  }
  return found.parameter?.find((parameter) => parameter.name === 'calendar')?.valueString ?? 503;
}

/** `GET /calendar/{secret}.ics`: the calendar feed of a practitioner or a room, authenticated by its secret only. */
export function calendarFeedRoutes(portal: Portal): FastifyPluginAsync {
  return async (scope) => {
    const keyGenerator = ({ ip }: FastifyRequest): string => addressGroup(ip);
    const timeWindow = '1 minute';
    await scope.register(rateLimit, { max: visitorLimits.feeds, timeWindow, keyGenerator });
    const network = scope.createRateLimit({
      max: PER_NETWORK * visitorLimits.feeds,
      timeWindow,
      keyGenerator: ({ ip }) => addressNetwork(ip),
    });
    scope.get('/calendar/:file', async (request, reply) => {
      const file = isObject(request.params) ? String(request.params.file) : '';
      const text = (await isTooMuch(request, [network])) ? 429 : await read(portal, file);
      reply.header('cache-control', 'private, no-cache').header('x-robots-tag', 'noindex');
      if (typeof text === 'number') {
        const said =
          text === 404 ? 'There is no such calendar.' : 'The calendar cannot be read now. Try again in a minute.';
        return reply
          .code(text)
          .headers(text === 404 ? {} : { 'retry-after': '60' })
          .type('text/plain; charset=utf-8')
          .send(`${said}\n`);
      }
      const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
      reply.header('etag', etag);
      const known = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''));
      return known?.includes(etag) ? reply.code(304).send() : reply.type('text/calendar; charset=utf-8').send(text);
    });
  };
}
