import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { glob, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
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
  'packages/web/!(test)/**/*',
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

/** A build: the digest of its sources, and its files. */
interface Manifest {
  readonly digest?: unknown;
  readonly files?: unknown;
}

function readManifest(manifest: string): Manifest {
  try {
    const content: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
    return isObject(content) ? content : {};
  } catch {
    return {};
  }
}

/** Writes a file as a whole: services read these files while several processes build. */
async function put(file: string, content: string | Uint8Array): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(draft, content);
  await rename(draft, file);
}

async function compress(file: string, content: Uint8Array): Promise<void> {
  // The highest quality takes seconds for a large file.
  const params = { [constants.BROTLI_PARAM_QUALITY]: content.length < 50_000 ? 11 : 9 };
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then((bytes) => put(`${file}.br`, bytes)),
    promisify(gzip)(content, { level: 9 }).then((bytes) => put(`${file}.gz`, bytes)),
  ]);
}

function pagesOf(outputs: Metafile['outputs']): Record<string, { script: string; style?: string }> {
  const pages = Object.entries(outputs).flatMap(([path, { entryPoint, cssBundle }]) => {
    const application = entryOf.exec(entryPoint ?? '')?.[1];
    const style = cssBundle && { style: basename(cssBundle) };
    return application ? [[application, { script: basename(path), ...style }] as const] : [];
  });
  return Object.fromEntries(pages);
}

/** Builds one application. Each has its own copy of the typeface: it is served from its own folder. */
function buildOne(file: string, output: string) {
  return build({
    write: false,
    entryPoints: [{ in: file, out: 'main' }],
    outdir: join(output, entryOf.exec(file)?.[1] ?? ''),
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
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
}

/** Age of a file that no running build is about to list, in milliseconds. */
const OLD = 60 * 60_000;

/** Removes what the last build has not listed. Its own files stay for those who have just opened a page. */
async function removeOthers(output: string, listed: readonly unknown[]): Promise<void> {
  const files = await filesOf([`${output}/*/*`]);
  const others = files.filter((file) => !listed.includes(basename(file).replace(/[.](br|gz)$/, '')));
  const remove = async (file: string): Promise<void> => {
    const written = await stat(file).catch(() => undefined);
    await (written && written.mtimeMs < Date.now() - OLD && rm(file, { force: true }));
  };
  await Promise.all(others.map(remove));
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
  const last = readManifest(manifest);
  if (last.digest === digest) {
    return undefined;
  }
  await removeOthers(output, Array.isArray(last.files) ? last.files : []);
  const all = await Promise.all(files.filter((file) => entryOf.test(file)).map((file) => buildOne(file, output)));
  const outputFiles = all.flatMap((result) => result.outputFiles);
  await Promise.all(outputFiles.map(({ path, contents }) => put(path, contents)));
  await Promise.all(
    outputFiles.filter(({ path }) => compressible.test(path)).map(({ path, contents }) => compress(path, contents)),
  );
  const outputs = Object.assign({}, ...all.map(({ metafile }) => metafile.outputs)) as Metafile['outputs'];
  const built = Object.entries(outputs);
  const names = built.map(([path]) => basename(path));
  // The manifest is written last: its files exist, even while several processes build.
  await put(manifest, JSON.stringify({ digest, pages: pagesOf(outputs), files: names }));
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
