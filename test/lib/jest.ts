/** What each process that runs tests for Jest loads first. */
import { addEventHandler, getState } from 'jest-circus';
import { registerTestHooks } from './test-hooks.ts';
import { scaled } from './time-scale.ts';

/** A test or hook that takes longer has failed, unless it or its file allows more. */
const LIMIT = scaled(30_000);

type Block = ReturnType<typeof getState>['currentDescribeBlock'];

function limited(fn: () => unknown, limit: number): () => Promise<unknown> {
  return async () => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`It took more than ${limit} ms.`)), limit);
    });
    return Promise.race([Promise.resolve().then(fn), late]).finally(() => clearTimeout(timer));
  };
}

function limitLast(of: Block['children'] | Block['hooks'], timeout = 0): void {
  const last = of.at(-1);
  if (last && 'fn' in last && last.fn) {
    const fn = last.fn as () => unknown;
    last.fn = limited(fn, Math.max(timeout, getState().testTimeout, LIMIT));
  }
}

/** The installations that were started for the tests, for one of which this process is. */
const { TEST_INSTALLATIONS = '[]', TINYPOOL_WORKER_ID } = process.env;
const installations: readonly Record<string, string>[] = JSON.parse(TEST_INSTALLATIONS);
Object.assign(process.env, installations[Number(TINYPOOL_WORKER_ID) % installations.length]);

registerTestHooks();
addEventHandler((event) => {
  const { currentDescribeBlock: block } = getState();
  if (event.name === 'add_test') {
    limitLast(block.children, event.timeout);
  } else if (event.name === 'add_hook') {
    limitLast(block.hooks, event.timeout);
  }
});
