import type { Command } from 'commander';
import type { BotName } from '../core/config/bots.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';
import { wholeNumber } from './cli/whole-number.ts';
import { deploy } from './deploy.ts';
import { calendarChecks } from './doctor/calendars.ts';
import { type Check, error, type Installation, type Level, type Row } from './doctor/check.ts';
import { credentialsChecks } from './doctor/credentials.ts';
import { deploymentChecks } from './doctor/deployment.ts';
import { exposureChecks } from './doctor/exposure.ts';
import { gatewayChecks } from './doctor/gateway.ts';
import { serverChecks } from './doctor/medplum-server.ts';
import { policyChecks } from './doctor/policies.ts';
import { projectChecks } from './doctor/project.ts';
import { queueChecks } from './doctor/queues.ts';
import { terminologyChecks } from './doctor/terminology.ts';
import { type Credentials, logIn } from './medplum/connect.ts';
import { requesterFor } from './medplum/http.ts';

const checks: readonly Check[] = [
  ...serverChecks,
  ...projectChecks,
  ...deploymentChecks,
  ...policyChecks,
  ...queueChecks,
  ...calendarChecks,
  ...terminologyChecks,
  ...gatewayChecks,
  ...credentialsChecks,
  ...exposureChecks,
];

/** Options of an examination. */
export interface DoctorOptions {
  readonly config: BookingConfig;
  readonly credentials: Credentials;
  readonly bookingsPerMinute: number;
  readonly gatewayUrl?: string | undefined;
  /** The bundles of the Bots; built from `bots/` when absent. */
  readonly code?: Readonly<Record<BotName, string>>;
}

async function dryRunLines({ config, credentials, code }: DoctorOptions): Promise<string[]> {
  const lines: string[] = [];
  await deploy({ ...credentials, config, ...(code && { code }), dryRun: true, log: (line) => lines.push(line) });
  return lines;
}

/** Root of the gateway's own routes. The given address may include the path of the FHIR interface. */
function gatewayRoot({ config, gatewayUrl }: DoctorOptions): string | undefined {
  const path = new URL(config.baseUrl).pathname;
  const url = gatewayUrl?.replace(/(?<!\/)\/+$/, '');
  return url?.endsWith(path) ? url.slice(0, -path.length) : url;
}

async function connectTo(options: DoctorOptions): Promise<Installation> {
  const { credentials } = options;
  const { medplum, me } = await logIn(credentials);
  let lines: Promise<string[]> | undefined;
  return {
    ...options,
    gatewayUrl: gatewayRoot(options),
    medplum,
    me,
    request: requesterFor(credentials.baseUrl, medplum.getAccessToken()),
    requestAnonymously: requesterFor(credentials.baseUrl),
    dryRun: () => {
      lines ??= dryRunLines(options);
      return lines;
    },
  };
}

const messageOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));

async function runCheck({ name, run }: Check, installation: Installation): Promise<Row> {
  try {
    return { check: name, ...(await run(installation)) };
  } catch (reason) {
    return { check: name, ...error(`the check failed: ${messageOf(reason)}`, 'Fix the errors above first.') };
  }
}

/**
 * Examines an installation without changing it: the one transaction that it tries must fail.
 *
 * @returns a line for each check; a single one if the server cannot be reached or refuses the credentials
 */
export async function examine(options: DoctorOptions): Promise<Row[]> {
  let installation: Installation;
  try {
    installation = await connectTo(options);
  } catch (reason) {
    return [{ check: 'connection', ...error(messageOf(reason), 'The other checks need a connection.') }];
  }
  const rows: Row[] = [];
  for (const check of checks) {
    rows.push(await runCheck(check, installation));
  }
  return rows;
}

/** The report as a table, with the help below each finding that has one. */
export function report(rows: readonly Row[]): string {
  const lines = rows.flatMap(({ check, level, found, help }) => [
    [level, check, found],
    ...(help ? [['', '', `→ ${help}`]] : []),
  ]);
  const count = (desired: Level): string => {
    const number = rows.filter(({ level }) => level === desired).length;
    return `${number} ${desired}${number === 1 ? '' : 's'}`;
  };
  return `${formatTable(['', 'check', 'found'], lines)}\n\n${count('error')}, ${count('warning')}.`;
}

interface Arguments extends CredentialArguments {
  readonly gatewayUrl?: string;
  readonly bookingsPerMinute: number;
  readonly json?: boolean;
}

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Checks an installation: server, project, deployment, gateway. It changes nothing.')
    .option('--gateway-url <url>', 'address at which the gateway is reached, with or without /fhir/R4 (or GATEWAY_URL)')
    .option('--bookings-per-minute <number>', 'bookings per minute that the quota must allow', wholeNumber(1), 60)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', '\nExit status: 0 without errors, else 1.')
    .action(main);
}

async function main(given: Arguments): Promise<void> {
  const rows = await examine({
    config: loadConfig(given.config),
    credentials: credentialsFrom(given),
    bookingsPerMinute: given.bookingsPerMinute,
    gatewayUrl: given.gatewayUrl ?? process.env.GATEWAY_URL,
  });
  console.log(given.json ? JSON.stringify(rows, undefined, 2) : report(rows));
  process.exitCode = rows.some(({ level }) => level === 'error') ? 1 : 0;
}
