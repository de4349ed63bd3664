/**
 * Playwright's global set-up: starts the embedded installation with its pages, in a clinic in Berlin, unless the environment
 * names another one (test/contract/installation.ts). Pages of `OTHER_ORIGIN` may call its interface.
 */
import { freePort } from '../lib/free-port.ts';
import { prepareService } from '../lib/installation.ts';

export default async function start(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BOOKING_BASE_URL) {
    return undefined;
  }
  const zone = 'Europe/Berlin';
  const other = `http://localhost:${await freePort()}`;
  const environment = { LOG_LEVEL: 'warn', SANDBOX_DATA: '', TZ: zone, CORS_ORIGINS: other };
  const installation = await prepareService(environment, { timeZone: zone });
  await installation.start();
  Object.assign(process.env, installation.addresses, { OTHER_ORIGIN: other });
  return installation.end;
}
