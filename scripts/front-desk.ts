import type { Command } from 'commander';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { ensurePageClient } from './front-desk/page-client.ts';
import { connect } from './medplum/connect.ts';

/** The command line: lets the page of the front desk sign people in. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Makes the client by which people sign in at the front desk, and prints what to set for the gateway.')
    .option('--origin <address>', 'where browsers reach the gateway; by default that of baseUrl')
    .action(main);
}

async function main(given: CredentialArguments & { origin?: string }): Promise<void> {
  const { origin } = new URL(given.origin ?? loadConfig(given.config).baseUrl);
  const credentials = credentialsFrom(given);
  console.log(`DESK_CLIENT_ID=${await ensurePageClient(await connect(credentials), origin)}`);
}
