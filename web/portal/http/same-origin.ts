import type { FastifyRequest } from 'fastify';

/**
 * Whether a form was sent from a page of the portal itself. Browsers say so in a header that no page can set; one that says
 * nothing is not believed.
 *
 * @param origin - of the portal, as browsers reach it
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export function isFromOwnPage({ headers }: Pick<FastifyRequest, 'headers'>, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === origin : site === 'same-origin';
}
