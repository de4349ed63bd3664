/**
 * Prints how large the project is beside what it may be (`budgets.json`), and fails where it is larger. A budget only goes
 * down: one that is higher than in the last release fails, too.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { type BotName, botSource } from '../core/config/bots.ts';
import { formatTable } from '../scripts/cli/table.ts';

interface Budgets {
  /** Lines of TypeScript by folder, tests apart. */
  readonly lines: Readonly<Record<string, number>>;
  /** Lines of all tests. */
  readonly tests: number;
  /** Words of all pages, generated ones included, those of apps and packages apart. */
  readonly words: number;
  /** Files of the project in a Bot's bundle, and its kilobytes. */
  readonly bots: Readonly<Record<string, { readonly files: number; readonly kB?: number }>>;
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

const files = git('ls-files').split('\n').filter(Boolean);
const isTest = (file: string): boolean => /(^|\/)test\//.test(file);
const sources = files.filter((file) => /\.tsx?$/.test(file));
const pages = files.filter((file) => file.endsWith('.md') && !/^(apps|packages)\//.test(file));

const linesOf = (some: readonly string[]): number =>
  some.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);

const linesIn = (folder: string): number =>
  linesOf(sources.filter((file) => file.startsWith(`${folder}/`) && !isTest(file)));

const wordsOf = (file: string): number => readFileSync(file, 'utf8').match(/\S+/g)?.length ?? 0;

async function bundleOf(name: BotName): Promise<{ files: number; kB: number }> {
  const { metafile, outputFiles } = await build({
    entryPoints: [botSource(name)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'cjs',
    platform: 'node',
    logLevel: 'error',
  });
  const own = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules/'));
  return { files: own.length, kB: Math.round((outputFiles[0]?.contents.length ?? 0) / 1000) };
}

type Row = readonly [what: string, most: number];

const rowsOf = ({ lines, tests, words, bots }: Budgets): Row[] => [
  ...Object.entries(lines).map(([folder, most]): Row => [`${folder}/ lines`, most]),
  ['tests, lines', tests],
  ['docs, words', words],
  ...Object.entries(bots).flatMap(([name, { files, kB }]): Row[] => [
    [`${name}: files`, files],
    ...(kB === undefined ? [] : [[`${name}: kB`, kB] as const]),
  ]),
];

/** The budgets of the last release; empty before the first one. */
function released(): ReadonlyMap<string, number> {
  try {
    const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*').trim();
    return new Map(rowsOf(JSON.parse(git('show', `${tag}:.ci/budgets.json`))));
  } catch {
    return new Map();
  }
}

const budgets: Budgets = JSON.parse(readFileSync(new URL('budgets.json', import.meta.url), 'utf8'));
const bundles = new Map<string, { files: number; kB: number }>();
for (const name of Object.keys(budgets.bots)) {
  bundles.set(name, await bundleOf(name as BotName));
}
const sizes = new Map(
  rowsOf({
    lines: Object.fromEntries(Object.keys(budgets.lines).map((folder) => [folder, linesIn(folder)])),
    tests: linesOf(sources.filter(isTest)),
    words: pages.reduce((sum, page) => sum + wordsOf(page), 0),
    bots: Object.fromEntries(bundles),
  }),
);
const rows = rowsOf(budgets).map(([what, most]) => ({ what, is: sizes.get(what) ?? 0, most }));
console.log(
  formatTable(
    ['what', 'is', 'at most'],
    rows.map(({ what, is, most }) => [what, String(is), String(most)]),
  ),
);
const before = released();
const larger = rows.filter(({ is, most }) => is > most);
const raised = rows.filter(({ what, most }) => most > (before.get(what) ?? most));
for (const [message, found] of [
  ['Larger than its budget, take something away', larger],
  ['A budget higher than that of the last release', raised],
] as const) {
  if (found.length > 0) {
    console.error(`\n${message}: ${found.map(({ what }) => what).join(', ')}.`);
    process.exitCode = 1;
  }
}
