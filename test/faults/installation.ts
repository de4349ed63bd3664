import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** A process of the service that a test starts and kills. */
export interface Service {
  start(): Promise<void>;
  /** SIGKILL: nothing is finished, nothing is written any more. Resolves when the process is gone. */
  kill(): Promise<void>;
}

/**
 * A program of the project as a child process.
 *
 * @param ready - what it prints when it can be used
 */
export function serviceOf(script: string, environment: Readonly<Record<string, string>>, ready: string): Service {
  let child: ChildProcess | undefined;
  return {
    async start() {
      const started = spawn(process.execPath, [script], {
        env: { ...process.env, ...environment },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      child = started;
      let output = '';
      await new Promise<void>((resolve, reject) => {
        started.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          if (output.includes(ready)) {
            resolve();
          }
        });
        started.once('exit', (code) => reject(new Error(`${script} ended (${code}):\n${output}`)));
      });
    },
    async kill() {
      if (child && child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }
    },
  };
}

/** The embedded Medplum with the service deployed, and a gateway, as one process that keeps its data in a folder. */
export interface Installation extends Service {
  readonly medplumUrl: string;
  /** Ends it for good and removes its data. */
  end(): Promise<void>;
}

/**
 * Prepares an installation on ports of its own, and tells the fixtures of the contract tests where it is: they are to
 * be imported afterwards.
 *
 * @param environment - further settings of the process
 */
export async function prepareInstallation(environment: Readonly<Record<string, string>> = {}): Promise<Installation> {
  const [port, medplumPort] = [await freePort(), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'booking-'));
  const settings = { PORT: String(port), MEDPLUM_PORT: String(medplumPort), SANDBOX_DATA: folder, LOG_LEVEL: 'silent' };
  const service = serviceOf('scripts/start.ts', { ...settings, ...environment }, 'curl');
  const medplumUrl = `http://localhost:${medplumPort}/`;
  Object.assign(process.env, {
    BOOKING_BASE_URL: `http://localhost:${port}/fhir/R4`,
    MEDPLUM_BASE_URL: medplumUrl,
    PORTAL_A_TOKEN: 'portal-a',
    PORTAL_B_TOKEN: 'portal-b',
    FRONT_DESK_TOKEN: 'front-desk',
    ADMIN_TOKEN: 'admin',
  });
  return {
    ...service,
    medplumUrl,
    async end() {
      await service.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
