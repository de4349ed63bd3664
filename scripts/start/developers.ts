import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import helmet from '@fastify/helmet';
import fastifyStatic from '@fastify/static';
import scalar from '@scalar/fastify-api-reference';
import type { FastifyPluginAsync } from 'fastify';
import { securityHeaders } from '../../packages/web/security.ts';

/** Content of the developers' page. */
export interface DevelopersOptions {
  readonly description: Readonly<Record<string, unknown>>;
  /** The credentials of a portal, visible to everybody who opens the page. */
  readonly client: { readonly id: string; readonly secret: string };
  readonly docs: string;
}

const introduction = `Send each call from this page: _Authorize_ logs in as a portal of the demo clinic, then _Test Request_.

Read on: [the guide, with every call and its answers](docs/portals.md) ·
[notifications](docs/notifications.md) · [error codes](docs/errors.md) · [clients](docs/clients.md).`;

/**
 * A page for developers of portals: every call of the interface, to read and to try, and the documentation as text. The
 * page loads everything from the service, and calls nothing else.
 */
export function developers({ description, client, docs }: DevelopersOptions): FastifyPluginAsync {
  return async (scope) => {
    const nonce = randomUUID();
    const scripts = [`'nonce-${nonce}'`];
    await scope.register(helmet, securityHeaders({ isSecure: false, scripts, styles: 'inline too' }));
    await scope.register(scalar, {
      routePrefix: '/',
      configuration: {
        nonce,
        pageTitle: 'Appointment booking: the interface',
        content: { ...description, info: { ...Object(description.info), description: introduction } },
        authentication: {
          preferredSecurityScheme: 'oauth2',
          securitySchemes: {
            oauth2: { flows: { clientCredentials: { 'x-scalar-client-id': client.id, clientSecret: client.secret } } },
          },
        },
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        showDeveloperTools: 'never',
        agent: { disabled: true },
        mcp: { disabled: true },
      },
    });
    await scope.register(fastifyStatic, {
      root: resolve(docs),
      prefix: '/docs/',
      index: false,
      decorateReply: false,
      setHeaders: (reply, path) => {
        if (path.endsWith('.md')) {
          reply.header('content-type', 'text/plain; charset=utf-8');
        }
      },
    });
  };
}
