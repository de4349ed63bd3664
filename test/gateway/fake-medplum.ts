import { beforeAll, beforeEach } from '@jest/globals';
import fastify, { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify';
import { resolveConfig } from '../../core/config/resolve.ts';
import type { GatewayLimits } from '../../gateway/limits.ts';
import { buildGateway, type GatewayOptions } from '../../gateway/server.ts';
import { atEnd } from '../lib/at-end.ts';
import { keysOf } from './sealing/keys.ts';

type DropFirst<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

/** What the fake Medplum was asked. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** What the fake Medplum answers. */
export interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A Medplum that answers what a test tells it to, and remembers what it was asked. */
export interface FakeMedplum {
  readonly url: string;
  readonly received: Received[];
  /** Answers that arrived as a whole, and requests that were given up by the gateway. */
  readonly finished: { answered: number; abandoned: number };
  /** The tokens that were verified, as `Authorization` headers. */
  readonly verified: string[];
  /** Answers the verification of a token; by default a requestor is named after it. */
  verify: (authorization: string) => Reply | Promise<Reply>;
  /** Answers the next requests; `undefined` leaves the default. */
  answer: (received: Received) => Reply | undefined | Promise<Reply | undefined>;
  readonly close: () => Promise<void>;
}

export const config = resolveConfig({ baseUrl: 'https://booking.example.org/fhir/R4' });
export const base = config.baseUrl;
export const bearer = { authorization: 'Bearer portal-a' };
export const fhirJson = { ...bearer, 'content-type': 'application/fhir+json' };

/** The answer of `auth/me`: the token `portal-a` is that of the client `portal-a-id`. */
const me = (authorization: string): Reply => ({
  body: {
    profile: { resourceType: 'ClientApplication', id: `${authorization.replace(/^Bearer /, '')}-id` },
    accessPolicy: { resource: [{ resourceType: 'Appointment', interaction: ['read', 'search'] }] },
  },
});

/** A fake Medplum that begins to listen, and has its address, when it is told to; it ends with the tests of the file. */
function fakeMedplum(): { readonly fake: FakeMedplum; readonly start: () => Promise<void> } {
  const app: FastifyInstance = fastify({ bodyLimit: 10_000_000 });
  atEnd(() => app.close());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const received: Received[] = [];
  const finished = { answered: 0, abandoned: 0 };
  const fake = {
    url: '',
    received,
    finished,
    verified: [],
    verify: me,
    answer: (): Reply | undefined => undefined,
    close: () => app.close(),
  } as FakeMedplum & { url: string };
  app.all('/*', async (request, reply) => {
    const url = new URL(request.url, 'http://fake');
    const one: Received = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: typeof request.body === 'string' ? request.body : '',
    };
    if (one.path === '/auth/me') {
      fake.verified.push(String(one.headers.authorization));
      const { status = 200, body } = await fake.verify(String(one.headers.authorization));
      return reply.code(status).send(body ?? {});
    }
    received.push(one);
    reply.raw.once('close', () => {
      finished[reply.raw.writableFinished ? 'answered' : 'abandoned']++;
    });
    const answer = (await fake.answer(one)) ?? { status: 404 };
    reply.code(answer.status ?? 200).headers(answer.headers ?? {});
    return typeof answer.body === 'string'
      ? reply.send(answer.body)
      : reply.type('application/fhir+json').send(JSON.stringify(answer.body ?? {}));
  });
  const start = async (): Promise<void> => {
    fake.url = await app.listen({ port: 0, host: '127.0.0.1' });
  };
  return { fake, start };
}

export async function startFakeMedplum(): Promise<FakeMedplum> {
  const { fake, start } = fakeMedplum();
  await start();
  return fake;
}

/** A gateway that ends with the tests of the file. */
export function gatewayTo(
  fake: { url: string },
  limits: Partial<GatewayLimits> = {},
  options: Partial<GatewayOptions> = {},
): FastifyInstance {
  const sealing = { keys: keysOf(1), unsealed: 'accepted' as const };
  const gateway = buildGateway({ config, medplumBaseUrl: `${fake.url}/`, limits, sealing, ...options });
  atEnd(() => gateway.close());
  return gateway;
}

/** What the tests of a file have when they share one gateway to one fake Medplum. */
interface SharedGateway {
  readonly fake: FakeMedplum;
  /** Sends a request to the gateway. */
  readonly inject: (request: InjectOptions | string) => Promise<LightMyRequestResponse>;
  /** The gateway, once the tests have begun. */
  readonly gateway: () => FastifyInstance;
}

/** Starts a fake Medplum and a gateway to it for the tests of a file. Each test begins with nothing received. */
export function withGateway(...args: DropFirst<Parameters<typeof gatewayTo>>): SharedGateway {
  const { fake, start } = fakeMedplum();
  let gateway: FastifyInstance;
  beforeAll(async () => {
    await start();
    gateway = gatewayTo(fake, ...args);
  });
  beforeEach(() => {
    fake.received.length = 0;
  });
  return { fake, inject: (request) => gateway.inject(request), gateway: () => gateway };
}

/** A search result as Medplum writes it, with its own addresses. */
export function searchset(url: string, type: string, resources: readonly object[], next?: string): object {
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    total: resources.length,
    link: [
      { relation: 'self', url: `${url}/fhir/R4/${type}?_count=20` },
      ...(next ? [{ relation: 'next', url: `${url}/fhir/R4/${type}?${next}` }] : []),
    ],
    entry: resources.map((resource) => ({
      fullUrl: `${url}/fhir/R4/${type}/x`,
      search: { mode: 'match' },
      resource,
    })),
  };
}
