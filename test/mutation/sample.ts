/** Tells Stryker which mutants to try: a sample that the seed decides. */
import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check';
import type { Mutant } from '@stryker-mutator/api/core';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import { settingsFrom } from './settings.ts';

/** A number that looks random, and is the same in every run with this seed. */
function rank({ fileName, location, mutatorName, replacement }: Mutant, seed: string): string {
  const identity = [seed, relative('.', fileName), location.start, location.end, mutatorName, replacement];
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
}

const hasPassed: CheckResult = { status: CheckStatus.Passed };
// Stryker has no status for what is not tried. These count for no score.
const isLeftOut: CheckResult = { status: CheckStatus.CompileError, reason: 'not in the sample' };

class SampleChecker implements Checker {
  async init(): Promise<void> {}

  /** All mutants at once, because a sample cannot be drawn one by one. */
  async group(mutants: Mutant[]): Promise<string[][]> {
    return [mutants.map(({ id }) => id)];
  }

  async check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    const { size, seed } = settingsFrom(process.env);
    const ranked = mutants
      .map((mutant) => ({ id: mutant.id, rank: rank(mutant, seed) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
    return Object.fromEntries(ranked.map(({ id }, index) => [id, index < size ? hasPassed : isLeftOut]));
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, 'sample', SampleChecker)];
