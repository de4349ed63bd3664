import { Command } from 'commander';
import type { BotName } from '../core/config/bots.ts';
import type { BookingConfig } from '../core/config/config.ts';
import type { PolicyName } from '../profiles/access-policies.ts';
import { buildArtefacts } from '../profiles/artefacts.ts';
import { buildBots } from './build.ts';
import { runAsProgram } from './cli/command.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { deployBots } from './deploy/bots.ts';
import { writeCliConfig } from './deploy/cli-config.ts';
import { artefactsBeforeBots, operations, subscriptions } from './deploy/desired-state.ts';
import { type Connection, type Credentials, connect } from './medplum/connect.ts';
import { type Counts, startReport } from './medplum/report.ts';
import { upsert } from './medplum/upsert.ts';

/** What a deployment needs to know. */
export interface DeployOptions extends Credentials {
  readonly config: BookingConfig;
  /** The bundles of the Bots; built from `bots/` when absent. */
  readonly code?: Readonly<Record<BotName, string>>;
  /** Says what would be done, and writes nothing. */
  readonly dryRun?: boolean;
  /** Where the configuration of Medplum's command line tool is written; `undefined`: nowhere. */
  readonly cliConfig?: string | undefined;
  /** Takes each line of the report as soon as it is known. */
  readonly log: (line: string) => void;
}

/** What a deployment leaves behind for the scripts after it. */
export interface Deployment {
  readonly connection: Connection;
  readonly counts: Counts;
  /** Id of each AccessPolicy. */
  readonly policies: Readonly<Partial<Record<PolicyName, string>>>;
  /** Id of each Bot. */
  readonly bots: Readonly<Partial<Record<BotName, string>>>;
}

/**
 * Brings a Medplum project to what the service needs: terminology, profiles, AccessPolicies, Bots and operations.
 * What is there already and right is left alone, so that a second run changes nothing.
 *
 * @throws Error that says what to do when the server cannot be reached, refuses the credentials or a resource, or lacks
 *   what the service needs
 */
export async function deploy(options: DeployOptions): Promise<Deployment> {
  const { config, dryRun = false, cliConfig, log } = options;
  const [connection, code] = await Promise.all([connect(options), options.code ?? buildBots(config)]);
  const report = startReport(log, dryRun);
  const artefacts = buildArtefacts(config);
  const wanted = artefactsBeforeBots(artefacts);
  const ids = await upsert(connection, wanted, report, dryRun);
  const policyNames = Object.keys(artefacts.accessPolicies) as PolicyName[];
  const policyIds = ids.slice(-policyNames.length);
  const policies = Object.fromEntries(policyNames.map((name, index) => [name, policyIds[index]]));
  const bots = await deployBots({ connection, config, policyId: policies.bots, report, dryRun }, code);
  await upsert(connection, operations(artefacts, bots), report, dryRun);
  await upsert(connection, subscriptions(artefacts, bots, config), report, dryRun);
  if (cliConfig && !dryRun) {
    writeCliConfig(cliConfig, options.baseUrl, bots);
  }
  return { connection, counts: report.counts(), policies, bots };
}

/** The counts of a deployment as a sentence. */
export function summary({ created, updated, unchanged }: Counts, dryRun = false): string {
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged`;
  return dryRun ? `Dry run, nothing was written. Would be: ${counts}.` : `Done: ${counts}.`;
}

async function main(): Promise<void> {
  const command = withCredentials(new Command())
    .name('npm run deploy --')
    .description('Deploys the service to a Medplum project: profiles, code systems, access policies, Bots, operations.')
    .option('--dry-run', 'print what would be done, write nothing');
  const given = command.parse().opts<CredentialArguments & { dryRun?: boolean }>();
  const { dryRun = false } = given;
  const config = loadConfig(given.config);
  const { counts } = await deploy({
    ...credentialsFrom(given),
    config,
    dryRun,
    cliConfig: 'medplum.config.json',
    log: console.log,
  });
  console.log(summary(counts, dryRun));
}

await runAsProgram(import.meta.url, main);
