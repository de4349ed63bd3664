/** Jest's global set-up: starts the embedded installation for the tests, unless the environment names another one. */
import { type Installation, prepareService } from '../lib/installation.ts';

declare global {
  var installation: Installation | undefined;
}

/** So little that reaching a limit takes no minutes, and more than the tests have beside one another. */
const changes = { notifications: { maxSubscriptions: 30 }, holds: { maxPerRequestor: 5 } };

export default async function start(): Promise<void> {
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  globalThis.installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' }, changes);
  await globalThis.installation.start();
  Object.assign(process.env, globalThis.installation.addresses);
}
