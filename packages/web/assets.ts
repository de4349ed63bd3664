import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';

interface PageAssets {
  readonly script: string;
  readonly style?: string;
}

/** The build output of one application (`npm run build:web`). */
export interface Assets {
  readonly folder: string;
  /** Current files: a new build is served without a restart. */
  readonly page: () => PageAssets;
}

/** The folder of the built pages. */
export const WEB_OUTPUT = 'dist/web';

/** The name of the list of built files, in the output folder. */
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
 * The built files of an `application` in the `output` of `npm run build:web`.
 *
 * @throws Error if it is not built; the message says how to build it
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

/** Serves built files below `/assets/`. Their names contain a digest of the content, so browsers keep them. */
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
