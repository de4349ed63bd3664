import replyFrom from '@fastify/reply-from';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from '../context.ts';
import { defaultRepresentation, send } from '../http/response.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import type { UpstreamFailure } from '../medplum/client.ts';
import { failureAnswer } from '../medplum/errors.ts';

/** What is passed through: OAuth speaks its own JSON, errors included (RFC 6749 section 5). */
const endpoints = [
  { method: 'POST', path: '/oauth2/token' },
  { method: 'POST', path: '/oauth2/introspect' },
  { method: 'GET', path: '/oauth2/userinfo' },
  { method: 'POST', path: '/oauth2/userinfo' },
  { method: 'GET', path: '/.well-known/jwks.json' },
] as const;

const requestHeaders: readonly string[] = ['host', 'authorization', 'content-type', 'content-length'];
const responseHeaders: readonly string[] = ['content-type', 'content-length', 'www-authenticate', 'retry-after'];
const bodyBytes = 64 * 1024;

function only<T>(headers: Readonly<Record<string, T>>, allowed: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => allowed.includes(name)));
}

function failureOf(error: Error & { code?: unknown }): UpstreamFailure {
  return { failure: error.code === 'FST_REPLY_FROM_GATEWAY_TIMEOUT' ? 'timeout' : 'unavailable' };
}

/** Passes a request through to Medplum as it stands, without its query and with the headers of OAuth only. */
function passThrough(path: string, { config, limits }: GatewayContext, addresses: Addresses) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.from(path, {
      queryString: () => '',
      timeout: limits.upstreamTimeoutMs,
      ...(typeof request.body === 'string' && {
        body: request.body,
        contentType: request.headers['content-type'] ?? 'application/x-www-form-urlencoded',
      }),
      rewriteRequestHeaders: (_request, headers) => ({
        ...only(headers, requestHeaders),
        'accept-encoding': 'identity',
      }),
      rewriteHeaders: (headers) => ({ ...only(headers, responseHeaders), 'cache-control': 'no-store' }),
      onError: (_failed, { error }) =>
        void send(reply, failureAnswer(failureOf(error), config), defaultRepresentation, addresses.scrub),
    });
}

/**
 * Adds the OAuth 2 endpoints of the service: Medplum's own, passed through.
 *
 * @param medplumBaseUrl - Medplum's base address
 */
export async function addOAuth(app: FastifyInstance, context: GatewayContext, medplumBaseUrl: string): Promise<void> {
  const oauth: FastifyPluginAsync = async (scope) => {
    const { limits, addresses } = context;
    await scope.register(replyFrom, {
      base: medplumBaseUrl,
      disableRequestLogging: true,
      undici: {
        connections: limits.connections,
        headersTimeout: limits.upstreamTimeoutMs,
        bodyTimeout: limits.upstreamTimeoutMs,
      },
    });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: bodyBytes },
      (_request, body, done) => done(null, body),
    );
    for (const { method, path } of endpoints) {
      scope.route({ method, url: path, handler: passThrough(path, context, addresses) });
    }
  };
  await app.register(oauth);
}
