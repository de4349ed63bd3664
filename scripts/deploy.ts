import type { NamingSystem } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import type { BotName } from '../core/config/bots.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { artefactName, artefactUri } from '../core/fhir/artefacts.ts';
import { gatewayAuthor } from '../core/fhir/tags.ts';
import type { PolicyName } from '../profiles/access-policies.ts';
import { buildArtefacts } from '../profiles/artefacts.ts';
import { writtenBy } from '../profiles/subscriptions.ts';
import { buildBots } from './build/bots.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { configPath, loadConfig } from './cli/load-config.ts';
import { deployBots } from './deploy/bots.ts';
import { CLI_CONFIG, writeCliConfig } from './deploy/cli-config.ts';
import { artefactsBeforeBots, operations, subscriptions } from './deploy/desired-state.ts';
import { deployGatewayClient } from './deploy/gateway-client.ts';
import { findObsolete, remove } from './deploy/removal.ts';
import { uninstall } from './deploy/uninstall.ts';
import { type Connection, type Credentials, connect } from './medplum/connect.ts';
import { type Counts, startReport } from './medplum/report.ts';
import { upsert } from './medplum/upsert.ts';

async function storedBase({ medplum }: Connection, config: BookingConfig): Promise<string | undefined> {
  const name = artefactName(config, 'LocalBot');
  const stored = await medplum.searchOne('NamingSystem', { 'name:exact': name });
  return stored && baseOf(stored, `/NamingSystem/${name}`);
}

function baseOf({ uniqueId }: NamingSystem, path: string): string | undefined {
  const uri = uniqueId.map(({ value }) => value).find((value) => value.endsWith(path));
  return uri?.slice(0, -path.length);
}

/**
 * Throws if the base address differs from that of the previous deployment: the tag of a requestor's resources would
 * have another system, so that requestors would no longer find them.
 *
 * @throws Error that names the setting which keeps the addresses
 */
async function assertSameAddresses(connection: Connection, config: BookingConfig): Promise<void> {
  const base = await storedBase(connection, config);
  if (
    base !== undefined &&
    artefactUri(config, 'LocalBot') !== `${base}/NamingSystem/${artefactName(config, 'LocalBot')}`
  ) {
    throw new Error(
      `This project has the service's artefacts below ${base}; the configuration would move them to ${config.localBase}. ` +
        `Nothing was deployed, because stored data refers to the old addresses. Set "localBase": "${base}" to keep them.`,
    );
  }
}

/** Options of a deployment. */
export interface DeployOptions extends Credentials {
  readonly config: BookingConfig;
  /**
   * The bundles of the Bots; built from `bots/` if absent. They are also built if the gateway has a client, whose id
   * they contain.
   */
  readonly code?: Readonly<Record<BotName, string>>;
  readonly dryRun?: boolean;
  /** Path for the configuration of Medplum's command line tool; `undefined`: it is not written. */
  readonly cliConfig?: string | undefined;
  /** Path of the configuration, for `cliConfig`. */
  readonly configPath?: string | undefined;
  readonly log: (line: string) => void;
}

/** The result of a deployment, for the scripts that follow it. */
export interface Deployment {
  readonly connection: Connection;
  readonly counts: Counts;
  /** Id of each AccessPolicy. */
  readonly policies: Readonly<Partial<Record<PolicyName, string>>>;
  /** Id of each Bot. */
  readonly bots: Readonly<Partial<Record<BotName, string>>>;
  /** Id of the ClientApplication of a gateway that runs Bots itself. */
  readonly gatewayClient: string | undefined;
}

/**
 * Deploys the service to a Medplum project: terminology, profiles, AccessPolicies, Bots and operations. Correct
 * artefacts are left alone, so that a second run changes nothing. Bots and Subscriptions of another version are removed
 * last, when their successors run.
 *
 * @throws Error that says what to do when the server cannot be reached, refuses the credentials or a resource, or lacks
 *   a feature
 */
export async function deploy(options: DeployOptions): Promise<Deployment> {
  const { dryRun = false, cliConfig, log } = options;
  const connection = await connect(options);
  await assertSameAddresses(connection, options.config);
  const report = startReport(log, dryRun);
  const artefacts = buildArtefacts(options.config);
  const desired = artefactsBeforeBots(artefacts);
  const artefactIds = await upsert(connection, desired, report, dryRun);
  const policyNames = Object.keys(artefacts.accessPolicies) as PolicyName[];
  const policyIds = artefactIds.slice(-policyNames.length);
  const policies = Object.fromEntries(policyNames.map((name, index) => [name, policyIds[index]]));
  const common = { connection, policyId: policies.bots, report, dryRun };
  const gatewayClient = await deployGatewayClient({ ...common, bots: options.config.bots });
  const config: BookingConfig = { ...options.config, gatewayClient };
  const bots = await deployBots({ ...common, config }, await codeFor(options, config));
  const references = Object.fromEntries(Object.entries(bots).map(([name, id]) => [name, `Bot/${id}`]));
  await upsert(connection, operations(artefacts, references), report, dryRun);
  const obsolete = await findObsolete(connection, config);
  const authors = authorsOf(Object.values(references), config);
  const all = [...authors, ...obsolete.bots.map(({ id }) => `Bot/${id}`)];
  await upsert(connection, subscriptions(artefacts, references, writtenBy(all), config), report, dryRun);
  if (obsolete.bots.length + obsolete.subscriptions.length > 0) {
    await remove(connection, obsolete, config, report, dryRun);
    await upsert(connection, subscriptions(artefacts, references, writtenBy(authors), config), silent, dryRun);
  }
  if (cliConfig && !dryRun) {
    writeCliConfig(cliConfig, options.baseUrl, bots, { bookingConfig: options.configPath, gatewayClient });
  }
  return { connection, counts: report.counts(), policies, bots, gatewayClient };
}

/** The given bundles are used unless the Bots have to know the gateway's client. */
async function codeFor({ code }: DeployOptions, config: BookingConfig): Promise<Readonly<Record<BotName, string>>> {
  return code && !config.gatewayClient ? code : buildBots(config);
}

function authorsOf(bots: readonly string[], config: BookingConfig): string[] {
  const gateway = gatewayAuthor(config);
  return [...bots, ...(gateway ? [gateway] : [])];
}

/** Discards the report of repeated writes in one deployment. */
const silent = startReport(() => undefined);

/** The counts of a deployment as a sentence. */
export function summary({ created, updated, unchanged, removed }: Counts, dryRun = false): string {
  const counts = [`${created} created, ${updated} updated, ${unchanged} unchanged`, removed && `${removed} removed`]
    .filter(Boolean)
    .join(', ');
  return dryRun ? `Dry run, nothing was written. Would be: ${counts}.` : `Done: ${counts}.`;
}

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Deploys the service to a Medplum project: profiles, code systems, access policies, Bots, operations.')
    .option('--dry-run', 'print what would be done, write nothing')
    .option('--remove', 'uninstall: remove Bots, Subscriptions, operations and unused access policies')
    .action(main);
}

async function main(given: CredentialArguments & { dryRun?: boolean; remove?: boolean }): Promise<void> {
  const { dryRun = false } = given;
  const options = { ...credentialsFrom(given), config: loadConfig(given.config), dryRun, log: console.log };
  const counts = given.remove
    ? await uninstall(options)
    : (await deploy({ ...options, cliConfig: CLI_CONFIG, configPath: given.config ?? configPath() })).counts;
  console.log(summary(counts, dryRun));
}
