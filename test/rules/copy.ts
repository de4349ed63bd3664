import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Edit } from './breaks.ts';

/** A copy of the project that can be broken: the files of the working folder stay as they are. */
export interface Copy {
  readonly folder: string;
  /** Changes files of the copy while an action runs. */
  while<T>(edits: readonly Edit[], action: () => Promise<T>): Promise<T>;
}

const files = (): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '');

/**
 * What becomes of a text by an edit.
 *
 * @throws Error unless the text to replace is there once
 */
export function edited(text: string, { file, from, to }: Edit): string {
  const [before = '', after, ...others] = text.split(from);
  if (after === undefined || others.length > 0) {
    throw new Error(`test/rules/breaks.ts: this text must stand in ${file} exactly once: ${from}`);
  }
  return `${before}${to}${after}`;
}

/** Copies the project as it is in the working folder, changes that are not committed included. */
export function copyProject(folder: string): Copy {
  rmSync(folder, { recursive: true, force: true });
  for (const file of files()) {
    cpSync(file, join(folder, file), { recursive: true });
  }
  for (const modules of ['node_modules', ...globSync('packages/*/node_modules')]) {
    symlinkSync(resolve(modules), join(folder, modules));
  }
  return {
    folder,
    async while(edits, action) {
      const originals = new Map(edits.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]));
      try {
        for (const edit of edits) {
          const path = join(folder, edit.file);
          writeFileSync(path, edited(readFileSync(path, 'utf8'), edit));
        }
        return await action();
      } finally {
        for (const [file, text] of originals) {
          writeFileSync(join(folder, file), text);
        }
      }
    },
  };
}
