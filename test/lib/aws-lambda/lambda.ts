import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { wrapper } from './wrapper.ts';

/** What one invocation gave, as Medplum reads it from AWS. */
export interface Invocation {
  /** Whether the function ended without an error. */
  readonly success: boolean;
  readonly returnValue: unknown;
}

/** A function of AWS Lambda in a process of its own. */
export interface Lambda {
  /** Calls it. After its time limit the process is killed, whatever it is doing. */
  invoke(event: object): Promise<Invocation>;
  /** What AWS does between two invocations: the process stands still, and notices nothing. */
  freeze(): void;
  thaw(): void;
  end(): Promise<void>;
}

/** The layer of Medplum: the modules that a function finds beside its own code. */
async function makeLayer(folder: string): Promise<string> {
  const modules = join(folder, 'layer/nodejs/node_modules');
  await mkdir(join(modules, 'pdfmake'), { recursive: true });
  await mkdir(join(modules, '@medplum'));
  await symlink(resolve('node_modules/@medplum/core'), join(modules, '@medplum/core'));
  await writeFile(join(modules, 'pdfmake/index.js'), 'module.exports = class PdfPrinter {};');
  return modules;
}

interface Reply {
  readonly functionError?: string;
  readonly payload?: string;
}

/**
 * Makes a function of the code of a Bot, with Medplum's wrapper and layer.
 *
 * @param code - the bundle of the Bot
 * @param seconds - its time limit
 */
export async function createLambda(code: string, seconds: number): Promise<Lambda> {
  const folder = await mkdtemp(join(tmpdir(), 'lambda-'));
  const task = join(folder, 'task');
  await mkdir(task);
  await writeFile(join(task, 'user.cjs'), code);
  await writeFile(join(task, 'index.cjs'), wrapper);
  const layer = await makeLayer(folder);
  let running: ChildProcess | undefined;
  const start = async (): Promise<ChildProcess> => {
    const runtime = resolve(dirname('test/lib/aws-lambda/runtime.cjs'), 'runtime.cjs');
    // Nothing of the environment of the tests: a function on AWS has none of it either.
    const env = { FUNCTION: join(task, 'index.cjs'), NODE_PATH: layer, PATH: process.env.PATH ?? '' };
    const child = fork(runtime, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    await once(child, 'message');
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    async invoke(event) {
      const child = running ?? (await start());
      running = child;
      const late = new AbortController();
      child.send(event);
      const answered = once(child, 'message').then(([reply]: Reply[]) => reply);
      const timer = setTimeout(seconds * 1000, undefined, { signal: late.signal }).catch(() => undefined);
      const reply = await Promise.race([answered, timer]);
      late.abort();
      if (!reply) {
        running = undefined;
        await kill(child);
        return { success: false, returnValue: { errorMessage: `Task timed out after ${seconds}.00 seconds` } };
      }
      const returnValue: unknown = reply.payload === undefined ? undefined : JSON.parse(reply.payload);
      return { success: !reply.functionError, returnValue };
    },
    freeze: () => void running?.kill('SIGSTOP'),
    thaw: () => void running?.kill('SIGCONT'),
    async end() {
      if (running) {
        await kill(running);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
