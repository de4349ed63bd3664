/**
 * Runs test files, its arguments, in this process, as Jest does, and tells its parent what became of each. It ends with the
 * first that fails, unless it is to learn which mutants each reaches. What it leaves behind its parent takes away.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '@jest/types';

/** A test file that was run, from when to when, and its first failure. */
export interface Ran {
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly failure: string | undefined;
}

const runner = resolve('node_modules/jest-light-runner/src/worker-runner.js');
const { default: run, setWorkerData } = await import(pathToFileURL(runner).href);
const none = { setupFilesAfterEnv: [], snapshotSerializers: [], snapshotFormat: {}, transform: [] };
const projectConfig = { rootDir: process.cwd(), setupFiles: [resolve('test/lib/jest.ts')], ...none };
setWorkerData({ globalConfig: { testNamePattern: null }, projectConfig, runtime: 'child_process' });

process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
const files = process.argv.slice(2);
let from = Date.now();
for (const file of files) {
  if (/^test\/(contract|faults)\//.test(file) && !process.env.BOOKING_BASE_URL) {
    const { default: start } = await import('../contract/start.ts');
    await start({ maxWorkers: 1, nonFlagArgs: files } as unknown as Config.GlobalConfig);
    Object.assign(process.env, installations[0]?.addresses);
    from = Date.now();
  }
  const { failureMessage } = await run(resolve(file)).catch(({ stack }: Error) => ({ failureMessage: stack }));
  const ran: Ran = { file, from, to: Date.now(), failure: failureMessage || undefined };
  await new Promise((sent) => process.send?.(ran, sent));
  if (ran.failure && !process.env.REACHED) {
    break;
  }
  from = ran.to;
}
process.exit();
