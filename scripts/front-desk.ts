import { Command } from 'commander';
import { runAsProgram } from './cli/command.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { ensurePageClient } from './front-desk/page-client.ts';
import { connect } from './medplum/connect.ts';

/** The command line: lets the page of the front desk sign people in. */
async function main(): Promise<void> {
  const command = withCredentials(new Command())
    .name('npm run front-desk --')
    .description('Makes the client by which people sign in at the front desk, and prints what to set for the gateway.')
    .option('--origin <address>', 'where browsers reach the gateway; by default that of baseUrl');
  const given = command.parse().opts<CredentialArguments & { origin?: string }>();
  const { origin } = new URL(given.origin ?? loadConfig(given.config).baseUrl);
  const credentials = credentialsFrom(given);
  console.log(`DESK_CLIENT_ID=${await ensurePageClient(await connect(credentials), origin)}`);
}

await runAsProgram(import.meta.url, main);
