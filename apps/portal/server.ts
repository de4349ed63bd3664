import fastifyCookie from '@fastify/cookie';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { addressGroup, addressGroups, addressNetwork, PER_NETWORK } from '../../packages/web/address-group.ts';
import { serveAssets } from '../../packages/web/assets.ts';
import { compressed } from '../../packages/web/compress.ts';
import { caching, securityHeaders } from '../../packages/web/security.ts';
import { type Count, isTooMuch, visitorLimits } from './http/limits.ts';
import { receiver } from './http/receiver.ts';
import { type Changes, cookies, isKept, type PageHandler, type Reply, type Visit, visitOf } from './http/visit.ts';
import { type Failure, failurePage } from './pages/failure.ts';
import { layout } from './pages/layout.ts';
import { createPortal, type Portal, type PortalOptions } from './portal.ts';
import { calendarFeedRoutes } from './published/calendar-feed.ts';
import { publishedRoutes } from './published/routes.ts';
import { portalRoutes } from './routes/routes.ts';
import { SESSION_LENGTH } from './session/session.ts';

/**
 * Whether a form was sent from a page of the portal. Browsers set both headers themselves, and no page can forge them.
 * A request with neither is refused.
 *
 * @see https://www.w3.org/TR/fetch-metadata/
 */
function isFromOwnPage({ headers }: Pick<FastifyRequest, 'headers'>, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === origin : site === 'same-origin';
}

const FORM_BYTES = 64 * 1024;

const DRAFT_LENGTH = 3_600_000;

const YEAR = 365 * 24 * 3_600;

/** Time for a decision after a link was opened, in milliseconds. */
const LINK_LENGTH = 600_000;

async function setCookies(
  { portal, session: before, isEmbedded }: Visit,
  reply: FastifyReply,
  { session, draft, link, language }: Changes,
): Promise<void> {
  const { path, origin, embeddedIn = [] } = portal.options;
  // In a frame of another site, browsers keep only partitioned cookies.
  const framed = { sameSite: 'none', secure: true, partitioned: true } as const;
  const own = { sameSite: 'lax', secure: origin.startsWith('https:') } as const;
  const [here, elsewhere] = isEmbedded ? [framed, own] : [own, framed];
  const put = (name: string, value: string, maxAge: number): void => {
    const common = { path, httpOnly: true, maxAge } as const;
    // If the clinic's site shares the portal's domain, a browser would send both cookies, the older one first.
    // Therefore the other kind is removed.
    if (embeddedIn.length > 0) {
      reply.header('set-cookie', reply.server.serializeCookie(name, '', { ...common, ...elsewhere, maxAge: 0 }));
    }
    reply.setCookie(name, value, { ...common, ...here });
  };
  if (language) {
    put(cookies.language, language, YEAR);
  }
  if (session) {
    const sealed = await portal.seal.close(
      'session',
      { ...portal.sessions.keep(session) },
      portal.now() + SESSION_LENGTH,
    );
    put(cookies.session, sealed, SESSION_LENGTH / 1000);
  }
  if (draft && isKept(draft)) {
    const { browser } = session ?? before;
    const sealed = await portal.seal.close('draft', { browser, form: draft.text }, portal.now() + DRAFT_LENGTH);
    put(cookies.draft, sealed, DRAFT_LENGTH / 1000);
  }
  if (link) {
    put(cookies.link, link, LINK_LENGTH / 1000);
  }
  if (session === null) {
    portal.sessions.end(before);
  }
  for (const [name, value] of [
    [cookies.session, session],
    [cookies.draft, draft],
    [cookies.link, link],
  ] as const) {
    if (value === null) {
      put(name, '', 0);
    }
  }
}

/** Sends a response. Pages may contain personal data, so caches must not store them. */
async function send(visit: Visit, reply: FastifyReply, answer: Reply): Promise<FastifyReply> {
  // Requests of scripts do not tell whether their page is in a frame. Therefore they set no cookies.
  if (reply.request.headers['sec-fetch-dest'] !== 'empty') {
    await setCookies(visit, reply, answer);
  }
  if (answer.isForgotten) {
    // A page from the browser's cache would still name the patient.
    reply.header('clear-site-data', '"cache"');
  }
  reply.header('cache-control', caching.personal).header('vary', 'accept-encoding, accept-language, cookie');
  switch (answer.kind) {
    case 'redirect':
      return reply.redirect(answer.to, 303);
    case 'data':
      return reply.send(answer.data);
    case 'file':
      return reply
        .type(answer.mediaType)
        .header('content-disposition', `attachment; filename="${answer.name}"`)
        .send(answer.text);
    case 'asset':
      // Pictures and styles are the same for everybody. Without `vary`, a new cookie does not make browsers fetch them
      // again.
      return reply
        .removeHeader('vary')
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('content-security-policy', "default-src 'none'; sandbox")
        .type(answer.mediaType)
        .send(answer.content);
    case 'embed':
      return reply
        .header('cache-control', 'public, max-age=3600')
        .header('cross-origin-resource-policy', 'cross-origin')
        .type('text/javascript; charset=utf-8')
        .send(answer.script);
    case 'part':
      return reply.type('text/html; charset=utf-8').send(answer.body.text);
    case 'page': {
      const page = layout(visit, answer, await visit.portal.clinic());
      const small = answer.isPublic && (await compressed(page, reply.request.headers['accept-encoding']));
      reply.code(answer.status ?? 200).type('text/html; charset=utf-8');
      return small ? reply.header('content-encoding', small.encoding).send(small.content) : reply.send(page);
    }
  }
}

/** @param calls - rate limits of the requests to the clinic's service */
function handle(portal: Portal, handler: PageHandler, calls: readonly Count[] = []) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const service = portal.service.countedBy(() => isTooMuch(request, calls));
    const visit = await visitOf({ ...portal, service }, request);
    return send(visit, reply, await handler(visit));
  };
}

function failureOf({ statusCode, code }: FastifyError): Failure {
  const known: Readonly<Record<string, Failure>> = {
    429: 'tooMany',
    403: 'forged',
    413: 'tooLarge',
    FST_ERR_CTP_BODY_TOO_LARGE: 'tooLarge',
  };
  return known[code] ?? known[String(statusCode)] ?? ((statusCode ?? 500) < 500 ? 'notFound' : 'broken');
}

class RefusedRequest extends Error {
  readonly statusCode: 403 | 429;
  constructor(message: string, statusCode: 403 | 429) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** Limits the concurrent requests of one visitor, because all visitors share the portal's limit at the clinic. */
function limitAtOnce(most: number) {
  const running = new Map<string, number>();
  const add = (name: string, more: number): void => {
    const now = (running.get(name) ?? 0) + more;
    now > 0 ? running.set(name, now) : running.delete(name);
  };
  return async ({ ip }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const groups = addressGroups(ip);
    if (groups.some(({ name, times }) => (running.get(name) ?? 0) >= times * most)) {
      throw new RefusedRequest('Too many requests from this address at the same time.', 429);
    }
    for (const { name } of groups) {
      add(name, 1);
      reply.raw.once('close', () => add(name, -1));
    }
  };
}

/**
 * The portal for patients, as a Fastify plugin. Its pages work without scripts and call the clinic's booking service
 * over HTTP, like any portal. The client's secret and its tokens stay on the server.
 */
export function portal(options: PortalOptions): FastifyPluginAsync {
  return async (scope) => {
    const made = createPortal(options, (problem) => scope.log.warn(problem));
    const { bookingsPerHour = visitorLimits.bookingsPerHour } = options;
    const { requestsPerMinute = visitorLimits.requestsPerBooking * bookingsPerHour } = options;
    const { changesPerMinute = visitorLimits.formsPerBooking * bookingsPerHour } = options;
    const timeWindow = '1 minute';
    await scope.register(
      helmet,
      securityHeaders({ isSecure: options.origin.startsWith('https:'), frames: options.embeddedIn ?? [] }),
    );
    await scope.register(fastifyCookie);
    await serveAssets(scope, options.assets);
    scope.setErrorHandler(async (error: FastifyError, request, reply) => {
      const failure = failureOf(error);
      if (failure === 'broken') {
        // The error message is not logged because it can quote a person's input.
        const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line));
        request.log.error({ name: error.name, code: error.code, frames }, 'failed');
      }
      return handle(made, async (visit) => failurePage(visit, failure))(request, reply);
    });
    await scope.register(receiver(made.updates, made.notificationSecret));
    await scope.register(calendarFeedRoutes(made));
    if (options.isPublished) {
      await scope.register(publishedRoutes(made));
    }
    await scope.register(async (pages) => {
      const own = { keyGenerator: ({ ip }: FastifyRequest): string => addressGroup(ip), timeWindow };
      const network = { keyGenerator: ({ ip }: FastifyRequest): string => addressNetwork(ip), timeWindow };
      await pages.register(rateLimit, { ...own, max: requestsPerMinute });
      const requests = pages.createRateLimit({
        ...network,
        max: visitorLimits.cheap * PER_NETWORK * requestsPerMinute,
      });
      // All forms share one limit.
      const forms = [
        pages.createRateLimit({ ...own, max: changesPerMinute }),
        pages.createRateLimit({ ...network, max: PER_NETWORK * changesPerMinute }),
      ];
      // All visitors share the portal's rate limit at the clinic's service.
      const calls = [
        pages.createRateLimit({ ...own, max: 2 * requestsPerMinute }),
        pages.createRateLimit({ ...network, max: PER_NETWORK * requestsPerMinute }),
      ];
      pages.removeAllContentTypeParsers();
      pages.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: FORM_BYTES },
        (_request, body, done) => done(null, body),
      );
      pages.addHook('onRequest', async (request) => {
        const isForm = request.method === 'POST';
        if (await isTooMuch(request, isForm ? [...forms, requests] : [requests])) {
          throw new RefusedRequest('Too many requests from this address.', 429);
        }
        if (isForm && !isFromOwnPage(request, options.origin)) {
          throw new RefusedRequest('The form was not sent from a page of the portal.', 403);
        }
      });
      pages.addHook('onRequest', limitAtOnce(bookingsPerHour));
      const cheap = { rateLimit: { max: visitorLimits.cheap * requestsPerMinute, timeWindow } };
      for (const { method, path, handler, isCheap } of portalRoutes) {
        pages.route({
          method,
          url: path,
          handler: handle(made, handler, calls),
          ...(isCheap && { config: cheap }),
        });
      }
    });
  };
}
