import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { build, type Plugin } from 'esbuild';
import { type BotName, botSource, bots } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { configPath, loadConfig } from '../cli/load-config.ts';
import { CLI_CONFIG, readCliConfig } from '../deploy/cli-config.ts';
import { batchesOf, installationBundle } from './package.ts';

/**
 * Medplum wraps a Bot's code, looks for `exports.handler`, and calls a function right behind it. In a VM context,
 * top-level declarations become properties of a global object that Node.js guards. Inside a function, the same
 * declarations take a fraction of the time in every run.
 */
const [banner, footer] = ['(() => {', '})();\nObject.assign(exports, module.exports);'];

const ENTRY = 'bot:';

const entries: Plugin = {
  name: 'bots',
  setup(builder) {
    builder.onResolve({ filter: /^bot:/ }, ({ path }) => ({ path: path.slice(ENTRY.length), namespace: 'bot' }));
    builder.onLoad({ filter: /./, namespace: 'bot' }, ({ path }) => ({
      contents: `export { handler } from './${basename(path)}';`,
      resolveDir: dirname(path),
      loader: 'js',
    }));
  },
};

/**
 * Bundles each Bot to a single CommonJS script for Medplum's VM context. One build reads shared modules once. The
 * resolved configuration replaces `__BOOKING_CONFIG__`. `WebSocket` becomes an empty object: @medplum/core needs it
 * when it is loaded, and the context does not have it.
 *
 * @param sources - paths of the sources, which must export `handler`
 * @throws Error that names the wrong source and its error
 */
async function bundle<Name extends string>(
  sources: Readonly<Record<Name, string>>,
  config: BookingConfig,
): Promise<Record<Name, string>> {
  const files = Object.entries<string>(sources);
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(files.map(([name, file]) => [name, ENTRY + resolve(file)])),
    plugins: [entries],
    outdir: '.',
    bundle: true,
    minify: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    legalComments: 'none',
    logLevel: 'silent',
    define: { __BOOKING_CONFIG__: JSON.stringify(config), WebSocket: '{}' },
    banner: { js: banner },
    footer: { js: footer },
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    const [[name, file] = ['', ''], ...more] = files;
    const what = more.length > 0 ? 'The Bots cannot be built; each file' : `The Bot ${name} cannot be built; ${file}`;
    throw new Error(`${what} must exist and export handler.\n${reason}`);
  });
  const codes = outputFiles.map(({ path, text }) => [basename(path, '.js'), text]);
  return Object.fromEntries(codes) as Record<Name, string>;
}

/**
 * Bundles one Bot.
 *
 * @param file - path of the source, which must export `handler`
 * @throws Error that describes the error in the source
 */
export async function bundleBot(file: string, config: BookingConfig): Promise<string> {
  const name = basename(file, '.ts');
  return (await bundle({ [name]: file }, config))[name] ?? '';
}

/**
 * Bundles every Bot of the service and writes the bundles to `<output>/<name>.js`.
 *
 * @param config - resolved configuration, which becomes part of each bundle
 * @throws Error that names the wrong source and its error
 */
export async function buildBots(config: BookingConfig, output = 'dist/bots'): Promise<Record<BotName, string>> {
  const names = Object.keys(bots) as BotName[];
  const sources = Object.fromEntries(names.map((name) => [name, botSource(name)])) as Record<BotName, string>;
  const codes = await bundle(sources, config);
  await mkdir(output, { recursive: true });
  await Promise.all(names.map((name) => writeFile(join(output, `${name}.js`), codes[name])));
  return codes;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description('Bundles the Bots to dist/bots, and a whole installation to dist/package/bundle.json.')
    .option('--config <file>', `configuration (default: BOOKING_CONFIG, that of ${CLI_CONFIG}, or booking.config.json)`)
    .action(main);
}

async function main({ config }: { config?: string }): Promise<void> {
  // Medplum's command line tool deploys these bundles, so they are built for the installation that it deploys to.
  const { bookingConfig, gatewayClient } = readCliConfig(CLI_CONFIG);
  const path = config ?? process.env.BOOKING_CONFIG ?? bookingConfig ?? configPath();
  const resolved = { ...loadConfig(path), gatewayClient };
  console.log(`Configuration: ${path}`);
  const built = await buildBots(resolved);
  for (const [name, code] of Object.entries(built)) {
    console.log(`dist/bots/${name}.js  ${(code.length / 1024).toFixed(1)} KB`);
  }
  await rm('dist/package', { recursive: true, force: true });
  await mkdir('dist/package', { recursive: true });
  const bundle = installationBundle(resolved, built);
  await writeFile('dist/package/bundle.json', JSON.stringify(bundle));
  console.log(`dist/package/bundle.json  ${bundle.entry?.length} resources`);
  const parts = batchesOf(bundle);
  await Promise.all(parts.map((one, index) => writeFile(`dist/package/${index + 1}.json`, JSON.stringify(one))));
  console.log(`dist/package/1.json to ${parts.length}.json  the same, in parts of 1 MB at most`);
}
