import type { FastifyRequest } from 'fastify';

/**
 * Whether a form was sent from a page of the portal itself. Browsers say so in headers that no page can set; a request that
 * has none of them is not accepted.
 *
 * @param origin - of the portal, as browsers reach it
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export function isFromOwnPage({ headers }: Pick<FastifyRequest, 'headers'>, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === origin : site === 'same-origin';
}
