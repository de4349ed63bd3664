import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';

/** The files that one page of an application loads, as addresses below the application's own. */
interface PageAssets {
  readonly script: string;
  readonly style?: string;
}

/** What `npm run build:web` has built for one application. */
export interface Assets {
  /** The folder of the built files. */
  readonly folder: string;
  /** The files of the page now: a new build is served without a restart. */
  readonly page: () => PageAssets;
}

/** Where the built pages are. */
export const WEB_OUTPUT = 'dist/web';

/** The list of what was built, in the folder of the output. */
export const MANIFEST = 'manifest.json';

function readPage(manifest: string, application: string): PageAssets {
  const content: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
  const pages = isObject(content) && isObject(content.pages) ? content.pages : {};
  const page = pages[application];
  if (!isObject(page) || typeof page.script !== 'string') {
    throw new Error(`${manifest} has no ${application}. Run npm run build:web.`);
  }
  return { script: page.script, ...(typeof page.style === 'string' && { style: page.style }) };
}

/**
 * The built files of an application.
 *
 * @param output - where `npm run build:web` has written, normally `dist/web`
 * @param application - the folder of the application in `web`
 * @throws Error that says how to build it
 */
export function assetsOf(output: string, application: string): Assets {
  const manifest = join(output, MANIFEST);
  let known: { readonly changed: number; readonly page: PageAssets } | undefined;
  const page = (): PageAssets => {
    const changed = statSync(manifest, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined) {
      throw new Error(`There is no ${manifest}. Run npm run build:web.`);
    }
    known = known?.changed === changed ? known : { changed, page: readPage(manifest, application) };
    return known.page;
  };
  page();
  return { folder: resolve(output, application), page };
}

/**
 * Serves the built files of an application below `/assets/`. Their names hold a digest of their content, so a browser never
 * has to ask for one again.
 */
export async function serveAssets(scope: FastifyInstance, { folder }: Assets): Promise<void> {
  await scope.register(fastifyStatic, {
    root: folder,
    prefix: '/assets/',
    index: false,
    redirect: false,
    decorateReply: false,
    preCompressed: true,
    immutable: true,
    maxAge: '1y',
  });
}
