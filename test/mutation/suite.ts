import { addEventHandler, getState, resetState, run, type State, setState } from 'jest-circus';
import { testUrl } from '../lib/test-hooks.ts';

type Block = State['rootDescribeBlock'];
type Test = Extract<Block['children'][number], { type: 'test' }>;

/** The file that a test is in, by the id of the test. */
export const fileOf = (id: string): string => id.slice(0, id.indexOf(' '));

/** What became of a test. */
export interface Result {
  readonly id: string;
  readonly name: string;
  /** Milliseconds. */
  readonly time: number;
  /** Why it failed; empty if it passed. */
  readonly errors: readonly string[];
}

/** How tests are run. */
export interface RunOptions {
  /** Whether the first failure ends the run. */
  readonly bail?: boolean;
  /** Is told the id of each test before it runs. */
  readonly onTest?: (id: string) => void;
}

/** The tests of one file, to run again and again in this process. */
export interface Suite {
  readonly file: string;
  readonly ids: readonly string[];
  /**
   * Runs tests of the file and their hooks.
   *
   * @param ids - of the tests; the others are skipped
   * @returns their results
   */
  run(ids: ReadonlySet<string>, options?: RunOptions): Promise<Result[]>;
}

/** A test may wait for other processes. */
const TEST_TIMEOUT = 60_000;

function testsOf(block: Block): Test[] {
  return block.children.flatMap((child) => (child.type === 'test' ? [child] : testsOf(child)));
}

function nameOf(test: Test): string {
  const names = [test.name];
  for (let block: Block | undefined = test.parent; block?.parent; block = block.parent) {
    names.unshift(block.name);
  }
  return names.join(' ');
}

const text = (error: unknown): string =>
  Array.isArray(error) ? text(error[0]) : error instanceof Error ? error.message : String(error);

/** Errors that nobody has caught, and rejections that nobody has handled. */
const uncaught = new Map<unknown, unknown>();
process.on('uncaughtException', (error) => uncaught.set(error, error));
process.on('unhandledRejection', (error, promise) => uncaught.set(promise, error));
process.on('rejectionHandled', (promise) => uncaught.delete(promise));

let onStart: (test: Test) => void = () => undefined;
let onEnd: (test: Test) => void = () => undefined;
addEventHandler((event) => {
  if (event.name === 'test_started') {
    onStart(event.test);
  } else if (event.name === 'test_done') {
    onEnd(event.test);
  }
});

function reset(state: State, tests: ReadonlyMap<string, Test>, modes: ReadonlyMap<string, Test['mode']>): void {
  uncaught.clear();
  Object.assign(state, { unhandledErrors: [], currentlyRunningTest: null });
  for (const [id, test] of tests) {
    Object.assign(test, { errors: [], status: null, invocations: 0, mode: modes.has(id) ? modes.get(id) : 'skip' });
  }
}

/**
 * Loads a test file.
 *
 * @param file - relative to the working folder
 * @throws whatever the file throws while it is loaded
 */
export async function loadSuite(file: string): Promise<Suite> {
  resetState();
  const state = getState();
  state.testTimeout = TEST_TIMEOUT;
  await import(testUrl(file));
  const tests = new Map(testsOf(state.rootDescribeBlock).map((test, at) => [`${file} ${at}: ${nameOf(test)}`, test]));
  const ids = new Map([...tests].map(([id, test]) => [test, id]));
  const modes = new Map([...tests].map(([id, { mode }]) => [id, mode]));
  return {
    file,
    ids: [...tests.keys()],
    async run(wanted, { bail = false, onTest } = {}) {
      setState(state);
      reset(state, tests, new Map([...modes].filter(([id]) => wanted.has(id))));
      const results: Result[] = [];
      const finish = (test: Test): void => {
        const errors = [...test.errors, ...uncaught.values(), ...state.unhandledErrors].map(text);
        const id = ids.get(test) ?? '';
        results.push({ id, name: nameOf(test), time: test.duration ?? 0, errors });
        if (bail && errors.length > 0) {
          for (const other of tests.values()) {
            other.mode = 'skip';
          }
        }
      };
      onStart = (test) => onTest?.(ids.get(test) ?? '');
      onEnd = finish;
      await run();
      const late = [...uncaught.values(), ...state.unhandledErrors].map(text);
      const last = results.at(-1);
      return last && last.errors.length === 0 && late.length > 0
        ? [...results.slice(0, -1), { ...last, errors: late }]
        : results;
    },
  };
}
