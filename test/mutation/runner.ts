/**
 * A test runner for Stryker that loads the unit tests once and then runs, for each mutant, those that reach it, up to
 * the first failure. Jest loads every module anew for every file and mutant, which takes 50 s; this takes milliseconds.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { type CoverageData, INSTRUMENTER_CONSTANTS, type InstrumenterContext } from '@stryker-mutator/api/core';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestRunner,
  type TestRunnerCapabilities,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import fc from 'fast-check';
import { registerTestHooks } from '../lib/test-hooks.ts';
import { shareWithContexts } from './share.ts';
import { fileOf, loadSuite, type Result, type Suite } from './suite.ts';

/** The tests that run in this process; `rest.ts` runs the others. */
const TESTS = 'test/{core,gateway,bots}/**/*.test.ts';

/** How long each test took without a mutant, for the processes that try the mutants. */
const TIMES = 'test-times.json';

const context: InstrumenterContext = {};
Object.assign(globalThis, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: context });

function add(total: CoverageData, more: CoverageData): void {
  for (const [mutant, hits] of Object.entries(more)) {
    total[mutant] = (total[mutant] ?? 0) + hits;
  }
}

/** Notes which mutants a file reaches; what its hooks reach counts for each of its tests. */
async function observe(suite: Suite): Promise<Result[]> {
  context.currentTestId = suite.file;
  const onTest = (id: string): void => {
    context.currentTestId = id;
  };
  const results = await suite.run(new Set(suite.ids), { onTest });
  delete context.currentTestId;
  const perTest = context.mutantCoverage?.perTest ?? {};
  const { [suite.file]: byHooks = {} } = perTest;
  delete perTest[suite.file];
  for (const id of suite.ids) {
    perTest[id] ??= {};
    add(perTest[id], byHooks);
  }
  return results;
}

const failureOf = (results: readonly Result[]): Result | undefined => results.find(({ errors }) => errors.length > 0);

class WarmRunner implements TestRunner {
  readonly #suites = new Map<string, Suite>();
  #times: Readonly<Record<string, number>> = {};
  /** Whether no mutant has run in this process. */
  #isFresh = true;
  /** Whether a mutant has left this process in a state in which tests fail. */
  #isSpoilt = false;

  capabilities(): TestRunnerCapabilities {
    return { reloadEnvironment: false };
  }

  async init(): Promise<void> {
    registerTestHooks();
    shareWithContexts(context);
    fc.configureGlobal({ endOnFailure: true });
  }

  /** The tests of a file, which is loaded when it is needed first. */
  async #suite(file: string): Promise<Suite> {
    const suite = this.#suites.get(file) ?? (await loadSuite(file));
    this.#suites.set(file, suite);
    return suite;
  }

  async dryRun(): Promise<DryRunResult> {
    const results: Result[] = [];
    const suites: Suite[] = [];
    for (const file of globSync(TESTS).sort()) {
      suites.push(await this.#suite(file));
    }
    for (const suite of suites) {
      results.push(...(await observe(suite)));
    }
    // What fails without a mutant can notice none.
    const useful = results.filter(({ errors }) => errors.length === 0);
    for (const { id, errors } of results.filter((result) => !useful.includes(result))) {
      console.error(`${id} fails without a mutant, and is left out: ${errors.join('; ')}`);
      delete context.mutantCoverage?.perTest[id];
    }
    writeFileSync(TIMES, JSON.stringify(Object.fromEntries(useful.map(({ id, time }) => [id, time]))));
    const tests = useful.map(({ id, name, time }) => ({
      id,
      name,
      timeSpentMs: time,
      status: TestStatus.Success as const,
    }));
    return { status: DryRunStatus.Complete, tests, mutantCoverage: context.mutantCoverage };
  }

  /** The files with these tests, the quickest first. */
  #plan(wanted: ReadonlySet<string>): string[] {
    const times = new Map<string, number>();
    for (const id of wanted) {
      const file = fileOf(id);
      times.set(file, (times.get(file) ?? 0) + (this.#times[id] ?? 0));
    }
    return [...times].sort(([, a], [, b]) => a - b).map(([file]) => file);
  }

  /** Runs the tests that reach the mutant, up to the first failure. */
  async #run(options: MutantRunOptions): Promise<MutantRunResult> {
    const wanted = new Set(options.testFilter ?? Object.keys(this.#times));
    let nrOfTests = 0;
    for (const file of this.#plan(wanted)) {
      const suite = await this.#suite(file);
      context.activeMutant = options.activeMutant.id;
      const results = await suite.run(wanted, { bail: true });
      context.activeMutant = options.mutantActivation === 'static' ? options.activeMutant.id : undefined;
      nrOfTests += results.length;
      const failure = failureOf(results);
      if ((context.hitCount ?? 0) > (context.hitLimit ?? Number.POSITIVE_INFINITY)) {
        return { status: MutantRunStatus.Timeout, reason: 'The mutant runs without end.' };
      }
      if (failure) {
        return this.#killed(suite, failure, nrOfTests);
      }
    }
    return { status: MutantRunStatus.Survived, nrOfTests };
  }

  /** Makes sure that the mutant is the reason: without it the test passes, unless the mutant has left something behind. */
  async #killed(suite: Suite, { id, errors }: Result, nrOfTests: number): Promise<MutantRunResult> {
    context.activeMutant = undefined;
    context.hitCount = undefined;
    this.#isSpoilt = failureOf(await suite.run(new Set([id]))) !== undefined;
    if (this.#isSpoilt && !this.#isFresh) {
      process.exit(1); // Stryker tries the mutant again in a new process.
    }
    return { status: MutantRunStatus.Killed, killedBy: [id], failureMessage: errors.join('\n'), nrOfTests };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    if (this.#isSpoilt) {
      process.exit(1);
    }
    this.#times = JSON.parse(readFileSync(TIMES, 'utf8'));
    const isStatic = options.mutantActivation === 'static';
    context.hitLimit = options.hitLimit;
    context.hitCount = options.hitLimit === undefined ? undefined : 0;
    context.activeMutant = isStatic ? options.activeMutant.id : undefined;
    try {
      return await this.#run(options);
    } catch (error) {
      return { status: MutantRunStatus.Killed, killedBy: [], failureMessage: String(error), nrOfTests: 0 };
    } finally {
      this.#isFresh = false;
      context.activeMutant = undefined;
      context.hitCount = undefined;
    }
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'warm', WarmRunner)];
