/**
 * Playwright's global set-up: starts the embedded installation with its pages, in a clinic in Berlin, unless the environment
 * names another one (test/contract/installation.ts).
 */
import { prepareService } from '../lib/installation.ts';

export default async function start(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BOOKING_BASE_URL) {
    return undefined;
  }
  const zone = 'Europe/Berlin';
  const installation = await prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '', TZ: zone }, { timeZone: zone });
  await installation.start();
  Object.assign(process.env, installation.addresses);
  return installation.end;
}
