import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';
import { copyProject } from '../rules/copy.ts';
import { changeOf } from './score.ts';

/** The tests that `runner.ts` does not run: those that start programs, and those of everything else. */
const REST = ['test/contract', 'test/sandbox', 'test/scripts', 'test/web', 'test/profiles', 'test/docs'];

/** Runs the rest of the tests, up to the first failure, on a copy of the project that has the mutant. */
export function restNotices(mutant: MutantResult): boolean {
  const { folder } = copyProject('dist/mutation/copy');
  const { file, before, after } = changeOf(mutant);
  writeFileSync(join(folder, file), `${before}${mutant.replacement ?? ''}${after}`);
  const { status } = spawnSync('npm', ['test', '--', ...REST, '--selectProjects', 'unit', 'contract', '--bail'], {
    cwd: folder,
    stdio: 'ignore',
  });
  return status !== 0;
}
