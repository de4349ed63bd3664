import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sealedTokens } from '../../scripts/demo/sealed-tokens.ts';
import { freePort } from './free-port.ts';
import { type Service, serviceOf } from './service.ts';
import { answerTimeout } from './time-scale.ts';

/** The embedded Medplum with the service deployed, and a gateway, as one process that keeps its data in a folder. */
export interface Installation extends Service {
  /** Address of Medplum, with a slash at its end. */
  readonly medplumUrl: string;
  /** What `test/contract/installation.ts` reads from the environment. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** The widest limits that the configuration takes: tests book much in little time. */
const wide = { maxOpenAppointments: 10_000, maxBookingsPerMinute: 10_000 };

/** Where the Bots run that are called through the gateway: `BOOKING_BOTS=gateway` lets the gateway run them. */
const bots = process.env.BOOKING_BOTS ?? 'medplum';

/** The project's own configuration; a slow machine takes longer to answer. */
function configuration(changes: object): string {
  const own: object = JSON.parse(readFileSync('booking.config.json', 'utf8'));
  return JSON.stringify({
    ...own,
    bots,
    requestors: wide,
    timeout: answerTimeout,
    ...changes,
  });
}

/**
 * Prepares an installation on ports of its own; `end` removes its data.
 *
 * @param environment - further settings of the process
 * @param changes - to the configuration
 */
export async function prepareService(
  environment: Readonly<Record<string, string>> = {},
  changes: object = {},
): Promise<Installation> {
  const [port, medplumPort] = [await freePort(), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'booking-'));
  const file = join(folder, 'booking.config.json');
  await writeFile(file, configuration(changes));
  const settings = {
    PORT: String(port),
    MEDPLUM_PORT: String(medplumPort),
    BOOKING_CONFIG: file,
    SANDBOX_DATA: join(folder, 'data'),
    PORTAL_CREDENTIALS: 'sealed',
  };
  const baseUrl = `http://localhost:${port}/fhir/R4`;
  const key = randomBytes(32).toString('base64');
  const service = serviceOf('scripts/booking.ts start', { ...settings, CREDENTIALS_KEY: key, ...environment }, 'curl');
  const medplumUrl = `http://localhost:${medplumPort}/`;
  return {
    ...service,
    medplumUrl,
    addresses: {
      BOOKING_BASE_URL: baseUrl,
      MEDPLUM_BASE_URL: medplumUrl,
      ...(await sealedTokens(baseUrl, key)),
      FRONT_DESK_TOKEN: 'front-desk',
      ADMIN_TOKEN: 'admin',
      BOOKING_CONFIG: file,
    },
    async end() {
      await service.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
