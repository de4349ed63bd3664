/**
 * Playwright's global set-up: starts the embedded installation with its pages, in a clinic in Berlin. Pages of
 * `OTHER_ORIGIN` may call its interface.
 *
 * For another installation set the variables of the contract tests (test/contract/installation.ts), and `DESK_PEOPLE` to
 * the e-mail addresses and passwords of two people with the AccessPolicy of the front desk:
 * `maria@clinic.example:secret,jan@clinic.example:secret`. Its gateway serves portal and front desk (`PORTAL_CLIENT_ID`
 * of Portal A, `DESK_CLIENT_ID`), its `timeZone` is Europe/Berlin, and it may send notifications to 127.0.0.1
 * (`notifications.allowedNetworks`). The tests of broken resources and of killed services start services of their own.
 */
import { freePort } from '../lib/free-port.ts';
import { prepareService } from '../lib/installation.ts';

export default async function start(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BOOKING_BASE_URL) {
    return undefined;
  }
  const zone = 'Europe/Berlin';
  const other = `http://localhost:${await freePort()}`;
  const site = `http://127.0.0.1:${await freePort()}`;
  // All visitors of the tests have one address.
  const limit = { PORTAL_BOOKINGS_PER_HOUR: '10000' };
  const environment = {
    LOG_LEVEL: 'warn',
    SANDBOX_DATA: '',
    TZ: zone,
    CORS_ORIGINS: other,
    PORTAL_EMBEDDED_IN: `${site} ${site.replace('127.0.0.1', 'localhost')}`,
    ...limit,
  };
  const installation = await prepareService(environment, { timeZone: zone });
  await installation.start();
  Object.assign(process.env, installation.addresses, { OTHER_ORIGIN: other, CLINIC_SITE: site });
  return installation.end;
}
