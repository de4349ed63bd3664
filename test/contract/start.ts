/** Jest's global set-up: starts the embedded installation for the tests, unless the environment names another one. */
import { type Installation, prepareService } from '../lib/installation.ts';

declare global {
  var installation: Installation | undefined;
}

/** So few Subscriptions that reaching their limit takes no minutes, and more than the tests have beside one another. */
const FEW = 30;

export default async function start(): Promise<void> {
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  const changes = { notifications: { maxSubscriptions: FEW } };
  globalThis.installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' }, changes);
  await globalThis.installation.start();
  Object.assign(process.env, globalThis.installation.addresses);
}
