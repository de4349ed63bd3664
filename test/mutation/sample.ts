/** Tells Stryker which mutants of a room to try: a sample that the seed decides, without those that are equivalent. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check';
import type { Mutant } from '@stryker-mutator/api/core';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import { isEquivalent } from './equivalents.ts';
import { settingsFrom } from './settings.ts';

/** Why an equivalent mutant is not tried. */
export const EQUIVALENT = 'equivalent';

/** A number that looks random, and is the same in every run with this seed. */
function rank({ fileName, location, mutatorName, replacement }: Mutant, seed: string): string {
  const identity = [seed, relative('.', fileName), location.start, location.end, mutatorName, replacement];
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
}

const hasPassed: CheckResult = { status: CheckStatus.Passed };
// Stryker has no status for what is not tried. These count for no score.
const isLeftOut = (reason: string): CheckResult => ({ status: CheckStatus.CompileError, reason });

class SampleChecker implements Checker {
  async init(): Promise<void> {}

  /** All mutants at once, because a sample cannot be drawn one by one. */
  async group(mutants: Mutant[]): Promise<string[][]> {
    return [mutants.map(({ id }) => id)];
  }

  async check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    const { size, seed } = settingsFrom(process.env);
    const files = new Set(mutants.map(({ fileName }) => fileName));
    const sources = new Map([...files].map((file) => [file, readFileSync(file, 'utf8')]));
    const isListed = (mutant: Mutant) => isEquivalent(mutant, sources.get(mutant.fileName) ?? '');
    const ranked = mutants
      .filter((mutant) => !isListed(mutant))
      .map(({ id, ...mutant }) => ({ id, rank: rank({ id, ...mutant }, seed) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
    return Object.fromEntries([
      ...mutants.map(({ id }) => [id, isLeftOut(EQUIVALENT)] as const),
      ...ranked.map(({ id }, index) => [id, index < size ? hasPassed : isLeftOut('not in the sample')] as const),
    ]);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, 'sample', SampleChecker)];
