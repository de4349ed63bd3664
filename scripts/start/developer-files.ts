import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BookingConfig } from '../../core/config/config.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { CLI_CONFIG, readCliConfig, writeCliConfig } from '../deploy/cli-config.ts';
import type { Deployment } from '../deploy.ts';

const STARTED_CONFIG = '.sandbox/booking.config.json';

const PORTAL_ENVIRONMENT = '.sandbox/portal.env';

/** The working folder of a developer, and the settings from which the running configuration was made. */
export interface Developer {
  readonly folder: string;
  readonly settings: unknown;
}

/**
 * Writes the files with which a developer deploys one changed Bot to the running embedded Medplum: the configuration it
 * was started with, and the ids of its Bots for Medplum's command line tool. A `medplum.config.json` of another server
 * stays. Another file has the credentials of a portal for the shell.
 *
 * @param config - the configuration of `npm start`: the settings, adapted to one machine
 * @returns lines that say how to deploy a Bot, or why `medplum.config.json` was kept
 */
export function writeDeveloperFiles(
  { folder, settings }: Developer,
  { baseUrl: publicUrl, notifications }: BookingConfig,
  medplum: { readonly baseUrl: string; readonly clientId: string; readonly clientSecret: string },
  { bots, gatewayClient }: Pick<Deployment, 'bots' | 'gatewayClient'>,
  portal: { readonly id: string; readonly secret: string },
): string[] {
  const cliConfig = join(folder, CLI_CONFIG);
  const started = join(folder, STARTED_CONFIG);
  mkdirSync(dirname(started), { recursive: true });
  const running = { ...(isObject(settings) && settings), baseUrl: publicUrl, notifications };
  writeFileSync(started, `${JSON.stringify(running, undefined, 2)}\n`);
  const environment = join(folder, PORTAL_ENVIRONMENT);
  // An existing file would keep its mode.
  rmSync(environment, { force: true });
  writeFileSync(environment, `PORTAL_ID=${portal.id}\nPORTAL_SECRET=${portal.secret}\n`, { mode: 0o600 });
  const other = readCliConfig(cliConfig).baseUrl;
  if (other !== undefined && other !== medplum.baseUrl) {
    return [`\n${CLI_CONFIG} belongs to ${other} and was kept. Delete it to deploy single Bots to this Medplum.`];
  }
  writeCliConfig(cliConfig, medplum.baseUrl, bots, { bookingConfig: STARTED_CONFIG, gatewayClient });
  const { baseUrl, clientId, clientSecret } = medplum;
  return [
    '\nTo deploy a changed Bot, in another terminal:',
    `export BOOKING_CONFIG=${STARTED_CONFIG} MEDPLUM_BASE_URL=${baseUrl} MEDPLUM_CLIENT_ID=${clientId} MEDPLUM_CLIENT_SECRET=${clientSecret}`,
    'npm run build && npx medplum bot deploy book',
  ];
}
