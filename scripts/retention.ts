import { type Command, InvalidArgumentError } from 'commander';
import { type Leftover, leftovers } from '../core/booking/retention.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';
import { connect } from './medplum/connect.ts';
import { clear } from './retention/clear.ts';

const DAY = 24 * 60 * 60_000;

interface RetentionArguments extends CredentialArguments {
  readonly olderThan: number;
  readonly dryRun?: boolean;
}

const kinds = Object.keys(leftovers) as Leftover[];

const explanation = `
What is cleared, with all versions:
${kinds.map((kind) => `  ${kind.padEnd(10)}${leftovers[kind]}`).join('\n')}

Appointments, patients, answers and what staff have entered are never touched. Old events of Subscriptions are removed by
a Bot (notifications.keepEventsDays). You can run this command at any time, and stop it: the next run continues. For
every run of a Bot Medplum itself keeps a file on the server, which this does not remove: see docs/operators.md, "Old data".`;

function parseDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 3650) {
    throw new InvalidArgumentError('Give whole days, 1 to 3650.');
  }
  return days;
}

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Removes old jobs and slot fragments of the service from Medplum.')
    .option('--older-than <days>', 'remove only what has not changed for this many days', parseDays, 30)
    .option('--dry-run', 'count what would be removed, remove nothing')
    .addHelpText('after', explanation)
    .action(main);
}

async function main(given: RetentionArguments): Promise<void> {
  const { dryRun = false, olderThan } = given;
  const { medplum, projectId } = await connect(credentialsFrom(given));
  const counts: Record<Leftover, number> = { jobs: 0, quotas: 0, slots: 0, published: 0 };
  await clear({
    medplum,
    config: loadConfig(given.config),
    cutoff: Date.now() - olderThan * DAY,
    dryRun,
    onProgress: (kind, count) => {
      counts[kind] += count;
      if (count > 0) {
        console.error(`${kind}: ${counts[kind]}`);
      }
    },
  });
  console.log(
    formatTable(
      [dryRun ? 'to clear' : 'cleared', 'what'],
      kinds.map((kind) => [String(counts[kind]), leftovers[kind]]),
    ),
  );
  console.log(`\nNot removed: the inputs of Bots, files bot/${projectId}/… of the server's binary storage.`);
}
