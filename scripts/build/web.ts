import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Command } from 'commander';
import { build, type Metafile } from 'esbuild';
import { isObject } from '../../core/fhir/resource.ts';
import { MANIFEST, WEB_OUTPUT } from '../../packages/web/assets.ts';

const entryOf = /^apps\/([\w-]+)\/client\/main\.tsx?$/;

/** Sources of the output. Scripts for browsers may import the rules of `core`. */
const inputs = [
  'apps/*/!(test)/**/*',
  'packages/web/*.ts',
  'core/**/*.ts',
  'package-lock.json',
  'scripts/build/web.ts',
];

const compressible = /\.(js|css|svg)$/;

async function filesOf(patterns: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of glob(patterns, { withFileTypes: true })) {
    if (entry.isFile()) {
      files.push(relative('.', join(entry.parentPath, entry.name)));
    }
  }
  return files.toSorted();
}

async function digestOf(files: readonly string[]): Promise<string> {
  const digest = createHash('sha256');
  for (const file of files) {
    digest.update(`${file}\0`).update(await readFile(file));
  }
  return digest.digest('hex');
}

function isBuilt(manifest: string, digest: string): boolean {
  try {
    const content: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
    return isObject(content) && content.digest === digest;
  } catch {
    return false;
  }
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  // The highest quality takes seconds for a large file.
  const params = { [constants.BROTLI_PARAM_QUALITY]: content.length < 50_000 ? 11 : 9 };
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then((bytes) => writeFile(`${file}.br`, bytes)),
    promisify(gzip)(content, { level: 9 }).then((bytes) => writeFile(`${file}.gz`, bytes)),
  ]);
}

function pagesOf({ outputs }: Metafile): Record<string, { script: string; style?: string }> {
  const pages = Object.entries(outputs).flatMap(([path, { entryPoint, cssBundle }]) => {
    const application = entryOf.exec(entryPoint ?? '')?.[1];
    const style = cssBundle && { style: basename(cssBundle) };
    return application ? [[application, { script: basename(path), ...style }] as const] : [];
  });
  return Object.fromEntries(pages);
}

async function buildAll(files: readonly string[], output: string): Promise<Metafile> {
  const entries = files.filter((file) => entryOf.test(file));
  const { metafile } = await build({
    entryPoints: entries.map((file) => ({ in: file, out: `${entryOf.exec(file)?.[1]}/main` })),
    outdir: output,
    entryNames: '[dir]/[name]-[hash]',
    // The folder of the only application that has a style sheet.
    assetNames: 'front-desk/[name]-[hash]',
    loader: { '.woff2': 'file' },
    bundle: true,
    minify: true,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022', 'chrome100', 'firefox102', 'safari15'],
    jsx: 'automatic',
    tsconfig: 'apps/tsconfig.json',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    logLevel: 'silent',
  });
  return metafile;
}

async function removeOthers(output: string, built: ReadonlySet<string>): Promise<void> {
  const files = await filesOf([`${output}/*/*`]);
  const old = files.filter((file) => !built.has(file.replace(/[.](br|gz)$/, '')));
  await Promise.all(old.map((file) => rm(file, { force: true })));
}

/**
 * Bundles and compresses the script and the style sheet of each application in `apps` for browsers, and lists them in
 * the manifest. An output from the current sources is kept.
 *
 * @returns the bytes of each file; `undefined` if nothing was built
 * @throws Error that describes the error in the source
 */
export async function buildWeb(output = WEB_OUTPUT): Promise<Record<string, number> | undefined> {
  const files = await filesOf(inputs);
  const digest = await digestOf(files);
  const manifest = join(output, MANIFEST);
  if (isBuilt(manifest, digest)) {
    return undefined;
  }
  const metafile = await buildAll(files, output);
  const built = Object.entries(metafile.outputs);
  await Promise.all(built.filter(([path]) => compressible.test(path)).map(([path]) => compress(path)));
  await mkdir(output, { recursive: true });
  // The manifest is written last, and atomically: its files exist, even while several processes build.
  const draft = `${manifest}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify({ digest, pages: pagesOf(metafile) }));
  await rename(draft, manifest);
  await removeOthers(output, new Set(built.map(([path]) => path)));
  return Object.fromEntries(built.map(([path, { bytes }]) => [path, bytes]));
}

/** The command line. */
export function define(command: Command): void {
  command.description('Builds the pages for browsers to dist/web.').action(main);
}

async function main(): Promise<void> {
  const built = await buildWeb();
  for (const [path, bytes] of Object.entries(built ?? {})) {
    const small = existsSync(`${path}.br`)
      ? `  ${(readFileSync(`${path}.br`).length / 1024).toFixed(1)} KB compressed`
      : '';
    console.log(`${path}  ${(bytes / 1024).toFixed(1)} KB${small}`);
  }
  if (!built) {
    console.log(`${WEB_OUTPUT} is up to date.`);
  }
}
