/** Jest's global set-up: starts the embedded installation for the tests, unless the environment names another one. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export default async function start(): Promise<void> {
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  const [port, medplumPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, ['scripts/start.ts'], {
    env: { ...process.env, PORT: String(port), MEDPLUM_PORT: String(medplumPort), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('curl')) {
        resolve();
      }
    });
    child.once('exit', (code) => reject(new Error(`The service did not start (exit code ${code}):\n${output}`)));
  });
  Object.assign(process.env, {
    BOOKING_BASE_URL: `http://localhost:${port}/fhir/R4`,
    MEDPLUM_BASE_URL: `http://localhost:${medplumPort}/`,
    PORTAL_A_TOKEN: 'portal-a',
    PORTAL_B_TOKEN: 'portal-b',
    FRONT_DESK_TOKEN: 'front-desk',
    ADMIN_TOKEN: 'admin',
    SERVICE_PID: String(child.pid),
  });
}
