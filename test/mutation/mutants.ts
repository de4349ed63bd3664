/** Small changes to the sources, by Stryker's instrumenter. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { Instrumenter } from '@stryker-mutator/instrumenter';

/** A change of a source file. */
export interface Mutant {
  /** The same in every run with these sources. */
  readonly place: string;
  /** What switches it on. */
  readonly id: string;
  readonly file: string;
  /** Where it is, and what it changes, in a line. */
  readonly text: string;
}

/** In place of Stryker's own, which know one process. A Bot has `process`; a page in a browser has no mutants. */
const SWITCHES = `function stryMutAct_9fa48(id) { return globalThis.process?.mutation?.isActive(id) ?? false; }
function stryCov_9fa48(...ids) { globalThis.process?.mutation?.reach(...ids); }`;

type Change = Awaited<ReturnType<Instrumenter['instrument']>>['mutants'][number];

export const sha256 = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

function textOf({ fileName, location: { start, end }, replacement }: Change, content: string): string {
  const code = content.split('\n').slice(start.line, end.line + 1);
  const before = [...code.slice(0, -1), code.at(-1)?.slice(0, end.column)].join('\n').slice(start.column);
  const [from, to] = [before, replacement].map((one) => one.replaceAll(/\s+/g, ' ').slice(0, 160));
  return `${fileName}:${start.line + 1}: ${from} → ${to}`;
}

/**
 * Chooses mutants by chance.
 *
 * @param paths - files, and folders of files
 * @param seed - decides which
 * @returns how many there are, those that were chosen, and the sources with these behind switches
 */
export async function chooseMutants(paths: readonly string[], seed: string, size: number) {
  const silent: ConstructorParameters<typeof Instrumenter>[0] = Object.create(
    new Proxy({}, { get: () => () => false }),
  );
  const sources = new Map(
    paths
      .flatMap((path) => (path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.ts`).sort()))
      .map((file) => [file, readFileSync(file, 'utf8')]),
  );
  const instrument = (placesIn: (file: string) => boolean | Change['location'][]) =>
    new Instrumenter(silent).instrument(
      [...sources].map(([name, content]) => ({ name, content, mutate: placesIn(name) })),
      { plugins: null, excludedMutations: [], ignorers: [] },
    );
  const placeOf = ({ fileName, location, replacement }: Change): string =>
    sha256([seed, fileName, location, replacement]);

  const all = (await instrument(() => true)).mutants.map((change) => ({ place: placeOf(change), change }));
  const chosen = all.sort((one, other) => one.place.localeCompare(other.place)).slice(0, size);
  const byFile = Map.groupBy(chosen, ({ change }) => change.fileName);
  // What lies within a mutant becomes one, too: each is found again by its place.
  const { files, mutants } = await instrument((file) => byFile.get(file)?.map(({ change }) => change.location) ?? []);
  const ids = new Map(mutants.map((change) => [placeOf(change), change.id]));
  return {
    count: all.length,
    chosen: chosen.map(({ place, change }): Mutant => {
      const [id, file] = [ids.get(place), change.fileName];
      if (id === undefined) {
        throw new Error(`The instrumenter does not find a mutant of ${file} again.`);
      }
      return { place, id, file, text: textOf(change, sources.get(file) ?? '') };
    }),
    files: files.map(({ name, content }) => ({
      name,
      content: content.replace(/function stryNS_9fa48.*return isActive\(id\);\s*\}/s, SWITCHES),
    })),
  };
}
