/** Jest's global set-up: starts the embedded installation for the tests, unless the environment names another one. */
import { type Installation, prepareService } from '../lib/installation.ts';

declare global {
  var installation: Installation | undefined;
}

export default async function start(): Promise<void> {
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  globalThis.installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' });
  await globalThis.installation.start();
  Object.assign(process.env, globalThis.installation.addresses);
}
