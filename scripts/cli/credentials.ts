import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { type Connection, type Credentials, connect } from '../medplum/connect.ts';
import { loadConfig } from './load-config.ts';

/** The options of a command that works on a Medplum project. */
export interface CredentialArguments {
  readonly baseUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly config?: string;
}

/** Adds the options for the server, the credentials and the installation's configuration. */
export function withCredentials(command: Command): Command {
  return command
    .option('--base-url <url>', 'address of the Medplum server (or MEDPLUM_BASE_URL)')
    .option('--client-id <id>', 'ClientApplication of a project administrator (or MEDPLUM_CLIENT_ID)')
    .option('--client-secret <secret>', 'its secret (or MEDPLUM_CLIENT_SECRET, which is safer)')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)');
}

/**
 * Reads the credentials from the options, or else from the environment.
 *
 * @throws Error that says how to give them
 */
export function credentialsFrom(
  given: CredentialArguments,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Credentials {
  const baseUrl = given.baseUrl ?? environment.MEDPLUM_BASE_URL;
  const clientId = given.clientId ?? environment.MEDPLUM_CLIENT_ID;
  const clientSecret = given.clientSecret ?? environment.MEDPLUM_CLIENT_SECRET;
  if (!baseUrl || !clientId || !clientSecret) {
    throw new Error(
      'Name the server and your credentials: --base-url, --client-id and --client-secret, or MEDPLUM_BASE_URL, ' +
        'MEDPLUM_CLIENT_ID and MEDPLUM_CLIENT_SECRET in the environment.',
    );
  }
  return { baseUrl, clientId, clientSecret };
}

/**
 * Reads the configuration, and logs in at the project.
 *
 * @throws Error that says what is wrong with either
 */
export async function open(given: CredentialArguments): Promise<Connection & { readonly config: BookingConfig }> {
  const config = loadConfig(given.config);
  return { ...(await connect(credentialsFrom(given))), config };
}
