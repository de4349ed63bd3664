import type { FastifyPluginAsync } from 'fastify';
import type { BookingConfig } from '../../core/config/config.ts';
import { web } from '../../web/web.ts';

/** The pages that `npm start` serves: the start page, and the ways into the applications. */
export function pagesFor({ baseUrl }: BookingConfig): FastifyPluginAsync {
  return web({ applications: [], baseUrl });
}
