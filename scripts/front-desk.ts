import type { ClientApplication } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { signedInAddress } from '../apps/front-desk/settings.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { isAddress } from './gateway/settings.ts';
import { type Connection, connect } from './medplum/connect.ts';

/** The command line: enables sign-in on the front desk page. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Makes the client by which people sign in at the front desk, and prints what to set for the gateway.')
    .option('--origin <address>', 'where browsers reach the gateway; by default that of baseUrl')
    .action(main);
}

async function main(given: CredentialArguments & { origin?: string }): Promise<void> {
  const address = given.origin ?? loadConfig(given.config).baseUrl;
  if (!isAddress(address)) {
    throw new Error(`--origin must be an address such as https://booking.clinic.example, not '${address}'.`);
  }
  const connection = await connect(credentialsFrom(given));
  console.log(`DESK_CLIENT_ID=${await ensurePageClient(connection, new URL(address).origin)}`);
}

const NAME = 'Appointment booking: front desk page';

/** How long a sign-in lasts: a working day. */
const WORKING_DAY = '12h';

/**
 * Creates the ClientApplication of the front desk page, or adds a redirect URI to it. It has no membership: its rights
 * are those of the person who signs in.
 *
 * @param origin - of the page in browsers, for example `https://booking.clinic.example`
 */
export async function ensurePageClient({ medplum }: Connection, origin: string): Promise<string> {
  const address = signedInAddress(origin);
  const found: (ClientApplication & { id: string }) | undefined = await medplum.searchOne('ClientApplication', {
    'name:exact': NAME,
  });
  if (!found) {
    const made = await medplum.createResource<ClientApplication>({
      resourceType: 'ClientApplication',
      name: NAME,
      description: 'People sign in by it; it has no rights of its own.',
      redirectUris: [address],
      refreshTokenLifetime: WORKING_DAY,
    });
    return made.id;
  }
  const { redirectUris = [] } = found;
  if (!redirectUris.includes(address)) {
    await medplum.updateResource<ClientApplication>({ ...found, redirectUris: [...redirectUris, address] });
  }
  return found.id;
}
