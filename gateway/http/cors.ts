import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** The headers of answers that scripts of another origin may read, besides those that every browser lets them read. */
const exposed = [
  'Allow',
  'Content-Location',
  'ETag',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
  'X-Progress',
  'X-Request-Id',
];

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** How long a browser may remember what it is permitted to do, in seconds. */
const MAX_AGE = 600;

/**
 * Lets scripts of these origins, and of no others, call the interface from a browser. `credentials` is permitted because
 * clients such as MedplumClient set it in every call; the interface itself reads no cookies, only bearer tokens.
 *
 * @param origins - for example `https://portal.example.org`; empty: no CORS at all
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export async function addCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length > 0) {
    await app.register(cors, {
      origin: [...origins],
      methods,
      exposedHeaders: exposed,
      credentials: true,
      maxAge: MAX_AGE,
      strictPreflight: false,
    });
  }
}
