/** Prints how large the project is beside what it may be, and fails where it is larger: see `budgets.json`. */
import { globSync, readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { type BotName, botSource } from '../core/config/bots.ts';
import { formatTable } from '../scripts/cli/table.ts';

interface Budgets {
  /** Lines of TypeScript and styles, by folder. */
  readonly lines: Readonly<Record<string, number>>;
  /** Words of the pages of a folder, pages that are generated aside. */
  readonly words: Readonly<Record<string, number>>;
  /** Files of ours in a Bot's bundle, and its kilobytes. */
  readonly bots: Readonly<Partial<Record<BotName, { readonly files: number; readonly kB: number }>>>;
}

const budgets: Budgets = JSON.parse(readFileSync(new URL('budgets.json', import.meta.url), 'utf8'));

const texts = (folder: string, ending: string): string[] =>
  globSync(`${folder}/**/*.${ending}`, { exclude: (path) => path.includes('node_modules') }).map((path) =>
    readFileSync(path, 'utf8'),
  );

const linesOf = (folder: string): number =>
  texts(folder, '{ts,tsx,css}').reduce((sum, text) => sum + text.split('\n').length - 1, 0);

const wordsOf = (folder: string): number =>
  texts(folder, 'md')
    .filter((text) => !text.includes('<!-- Generated from'))
    .reduce((sum, text) => sum + (text.match(/\S+/g)?.length ?? 0), 0);

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
  const files = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules/')).length;
  return { files, kB: Math.round((outputFiles[0]?.contents.length ?? 0) / 1000) };
}

type Row = readonly [what: string, is: number, most: number];

const rows: Row[] = [
  ...Object.entries(budgets.lines).map(([folder, most]): Row => [`${folder}/ lines`, linesOf(folder), most]),
  ...Object.entries(budgets.words).map(([folder, most]): Row => [`${folder}/ words`, wordsOf(folder), most]),
];
for (const [name, most] of Object.entries(budgets.bots)) {
  const { files, kB } = await bundleOf(name as BotName);
  rows.push([`${name}: files`, files, most.files], [`${name}: kB of its bundle`, kB, most.kB]);
}

const beyond = rows.filter(([, is, most]) => is > most);
console.log(
  formatTable(
    ['what', 'is', 'at most'],
    rows.map((row) => row.map(String)),
  ),
);
if (beyond.length > 0) {
  console.error(
    `\nBeyond its budget: ${beyond.map(([what]) => what).join(', ')}. Take something away, or raise .ci/budgets.json`,
  );
  console.error('in a commit of its own that says why.');
  process.exitCode = 1;
}
