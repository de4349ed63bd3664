import type { Command } from 'commander';
import { isAssistant } from '../core/booking/policy/caller-rights.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';
import { sealingFrom } from './gateway/settings.ts';
import { type Connection, connect } from './medplum/connect.ts';
import type { ClientCredentials } from './medplum/membership.ts';
import { addClient, oldSecretText, removeClient, retireSecret, rotateSecret } from './requestor/change.ts';
import { memberNamed, members } from './requestor/members.ts';
import { type SecretState, type SecretStates, sealCredentials, secretStates } from './requestor/sealing.ts';

const open = (given: CredentialArguments): Promise<Connection> => connect(credentialsFrom(given));

function printCredentials(name: string, { id, secret }: ClientCredentials): void {
  console.log(`${name}\n  client id      ${id}\n  client secret  ${secret}\nThe secret is not shown again.`);
}

interface Added {
  readonly consumerOf?: string;
  readonly assistant?: boolean;
}

async function add(name: string, given: CredentialArguments & Added): Promise<void> {
  const { assistant, consumerOf } = given;
  if (assistant && consumerOf) {
    throw new Error('An assistant books: leave out --consumer-of.');
  }
  const { keys } = sealingFrom(process.env);
  const connection = await open(given);
  const made = await addClient(connection, name, consumerOf, assistant);
  printCredentials(name, await sealCredentials(connection, made, keys));
}

const wordsFor = (state: SecretState): string => (state === 'unsealed' ? 'not sealed' : `sealed with key ${state.key}`);

function describe({ current, retiring, hasOwnKeys }: SecretStates): string {
  const before = retiring ? [`the one before still works, ${wordsFor(retiring)}`] : [];
  return [wordsFor(current), ...before, ...(hasOwnKeys ? ['logs in with keys of its own'] : [])].join('; ');
}

async function list(given: CredentialArguments): Promise<void> {
  const all = await members(await open(given));
  const names = new Map(all.map(({ client }) => [`ClientApplication/${client.id}`, client.name]));
  const rows = all.map(({ client, isDeleted, role, consumerOf }) => [
    client.name ?? '',
    client.id,
    isAssistant({ profile: client }) ? 'assistant' : role,
    (consumerOf && (names.get(consumerOf) ?? consumerOf)) ?? '',
    isDeleted ? 'none: remove it by its id' : describe(secretStates(client)),
  ]);
  console.log(formatTable(['name', 'client id', 'role', 'reads the appointments of', 'secret'], rows));
}

async function rotate(idOrName: string, given: CredentialArguments & { finish?: boolean }): Promise<void> {
  const sealing = given.finish ? undefined : sealingFrom(process.env);
  const connection = await open(given);
  const { client } = await memberNamed(connection, idOrName);
  if (!sealing) {
    console.log(await retireSecret(connection, client));
    return;
  }
  const rotation = await rotateSecret(connection, client);
  printCredentials(idOrName, await sealCredentials(connection, rotation, sealing.keys));
  console.log(oldSecretText(rotation, `npm run requestor -- rotate ${rotation.id}`));
}

async function remove(idOrName: string, given: CredentialArguments & { yes?: boolean }): Promise<void> {
  if (!given.yes) {
    throw new Error(`This permanently ends the access of ${idOrName}. Its bookings stay. Add --yes to confirm.`);
  }
  const { member, subscriptions } = await removeClient(await open(given), idOrName, loadConfig(given.config));
  console.log(`Removed ${member.client.name} (${member.client.id}); switched off ${subscriptions} Subscriptions.`);
}

/** The command line: clients that book (requestors) or follow bookings (consumers). */
export function define(program: Command): void {
  program
    .description(
      'Adds, lists and removes the portals that book (requestors), and readers of their bookings (consumers).',
    )
    .showHelpAfterError();
  withCredentials(program.command('add').argument('<name>'))
    .description('adds a requestor and prints its credentials, once')
    .option('--consumer-of <id|name>', 'adds a consumer, who reads the appointments of this requestor')
    .option('--assistant', 'adds an assistant (/mcp): it holds times for people, whose acceptance books')
    .action(add);
  withCredentials(program.command('list')).description('lists requestors and consumers').action(list);
  withCredentials(program.command('rotate').argument('<id|name>'))
    .description('gives a client a new secret and prints it, once')
    .option('--finish', 'end the previous secret')
    .action(rotate);
  withCredentials(program.command('remove').argument('<id|name>'))
    .description('ends the access of a client; its bookings stay')
    .option('--yes', 'do it')
    .action(remove);
}
