import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve as absolute } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { scaled } from './time-scale.ts';

/** A program of the project as a process that tests start and end. It never outlives the process of the tests. */
export interface Service {
  /** Starts it and waits until it can be used. */
  start(): Promise<void>;
  /** SIGKILL: nothing is finished, nothing is written any more. Resolves when the process is gone. */
  kill(): Promise<void>;
  /**
   * SIGTERM: it ends by itself.
   *
   * @throws Error when it does not; then it is killed
   */
  stop(): Promise<void>;
  /** Kills it for good: it is never started again. */
  end(): Promise<void>;
  /** Everything that it has printed since it could be used. */
  printed(): string;
}

/** How long a program may take to end by itself, in milliseconds on a quick machine. */
const GRACE = 5_000;

const preload = ['--import', pathToFileURL(absolute('test/lib/end-with-parent.ts')).href];

/** Where programs keep what they have compiled: a start takes a fifth less of the processor. */
const COMPILED = absolute('node_modules/.cache/node');

/** Waits until a program prints what it prints when it can be used. */
function readiness(child: ChildProcess, script: string, ready: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (output.includes(ready)) {
      resolve();
    }
  });
  child.once('exit', (code, signal) => reject(new Error(`${script} ended (${code ?? signal}):\n${output}`)));
  return promise;
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

async function endBy(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/**
 * A program of the project.
 *
 * @param script - relative to the working folder, and its arguments
 * @param environment - what it is told besides the environment of the tests
 * @param ready - what it prints when it can be used
 */
export function serviceOf(script: string, environment: Readonly<Record<string, string>>, ready: string): Service {
  let child: ChildProcess | undefined;
  let isOver = false;
  let printed = '';
  async function kill(): Promise<void> {
    if (child && isRunning(child)) {
      await endBy(child, 'SIGKILL');
    }
  }
  return {
    async start() {
      if (isOver) {
        throw new Error(`${script} is not started again: its tests are over.`);
      }
      await kill();
      child = spawn(process.execPath, [...preload, ...script.split(' ')], {
        env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...environment },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      child.stderr?.pipe(process.stderr, { end: false });
      await readiness(child, script, ready);
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk: Buffer) => {
          printed += chunk.toString();
        });
      }
    },
    printed: () => printed,
    kill,
    async stop() {
      const late = new AbortController();
      const stopping = child && isRunning(child) ? endBy(child, 'SIGTERM').then(() => true) : true;
      const inTime = await Promise.race([
        stopping,
        setTimeout(scaled(GRACE), false, { ref: false, signal: late.signal }).catch(() => true),
      ]);
      late.abort();
      await kill();
      if (!inTime) {
        throw new Error(`${script} did not end by itself within ${scaled(GRACE)} ms.`);
      }
    },
    async end() {
      isOver = true;
      await kill();
    },
  };
}
