import type { Command } from 'commander';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { writeSettings } from './cli/settings-file.ts';
import { findGatewayClient, GATEWAY_CLIENT } from './deploy/gateway-client.ts';
import { connect } from './medplum/connect.ts';
import { oldSecretText, retireSecret, rotateSecret } from './requestor/change.ts';

async function rotate(given: CredentialArguments & { finish?: boolean; output?: string }): Promise<void> {
  const connection = await connect(credentialsFrom(given));
  const client = await findGatewayClient(connection);
  if (!client) {
    throw new Error(
      `The project has no ClientApplication "${GATEWAY_CLIENT}". Set "bots": "gateway" in booking.config.json, and run ` +
        'npm run deploy first.',
    );
  }
  if (given.finish) {
    console.log(await retireSecret(connection, client));
    return;
  }
  // An unwritable file is noticed before the secret changes.
  if (given.output) {
    writeSettings(given.output, []);
  }
  const rotation = await rotateSecret(connection, client);
  const lines = [`BOTS_CLIENT_ID=${rotation.id}`, `BOTS_CLIENT_SECRET=${rotation.secret}`];
  if (given.output) {
    writeSettings(given.output, lines);
    console.log(`The settings are in ${given.output}.`);
  } else {
    console.log(lines.join('\n'));
  }
  const text = oldSecretText(rotation, 'npm run gateway:client -- rotate');
  console.error(`The secret is not shown again. ${text}`);
}

/** The command line: the secret of the client of a gateway that runs Bots itself. */
export function define(program: Command): void {
  program
    .description('The client with which a gateway that runs the Bots itself writes ("bots": "gateway").')
    .showHelpAfterError();
  withCredentials(program.command('rotate'))
    .description('gives the client a new secret, and prints it once, as settings of the gateway')
    .option('--output <file>', 'write them into this file instead of printing them')
    .option('--finish', 'end the previous secret')
    .action(rotate);
}
