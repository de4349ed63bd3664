import type { FastifyPluginAsync } from 'fastify';
import { serveStart, type WayIn } from './start-page.ts';

/** An application: its path, and the plugin that serves it. */
export interface Application extends WayIn {
  readonly plugin: FastifyPluginAsync;
}

interface WebOptions {
  readonly applications: readonly Application[];
  /** Public FHIR base address of the service; the pages are at its origin. */
  readonly baseUrl: string;
}

/** The pages for people: the start page at `/`, and each application at its path. */
export function web({ applications, baseUrl }: WebOptions): FastifyPluginAsync {
  return async (app) => {
    const isSecure = baseUrl.startsWith('https:');
    await app.register(async (scope) => serveStart(scope, { ways: applications, baseUrl, isSecure }));
    for (const { path, plugin } of applications) {
      await app.register(plugin, { prefix: path.replace(/\/$/, '') });
    }
  };
}
