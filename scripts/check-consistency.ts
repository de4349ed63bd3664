import { setTimeout } from 'node:timers/promises';
import { ClientStorage, MedplumClient, MemoryStorage } from '@medplum/core';
import type { Resource, ResourceType } from '@medplum/fhirtypes';
import { Command } from 'commander';
import { checkConsistency, type Finding } from '../core/booking/consistency/check.ts';
import { rules } from '../core/booking/consistency/finding.ts';
import { doubtfulSlots } from '../core/booking/consistency/taken-time.ts';
import { bots as botNames } from '../core/config/bots.ts';
import { artefactUri, type BookingConfig } from '../core/config/config.ts';
import { runAsProgram } from './cli/command.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';
import { readOfferedBefore, readStored, type Source } from './consistency/read.ts';
import { GATEWAY_CLIENT } from './deploy/gateway-client.ts';
import { connect } from './medplum/connect.ts';

interface CheckArguments extends CredentialArguments {
  readonly schedule?: readonly string[];
  readonly json?: boolean;
}

const explanation = `
What is found:
${Object.entries(rules)
  .map(([name, { severity, display }]) => `  ${name.padEnd(26)}${severity.padEnd(9)}${display}`)
  .join('\n')}

A busy slot without an appointment is reported only if a Bot of the service made it busy; slots that the clinic has
blocked are not reported. Medplum shows the author of a resource to project administrators; where it does not, a slot
counts as the service's if it was split off from another one.
The fragments of a slot that was split are compared with the time that the clinic had given it. A fragment that the clinic has
deleted or moved by hand is reported as missing: the check cannot know that it was meant.
Warnings may be harmless: a patient, or answers, that a later re-submission of the appointment has replaced.
While bookings go on, what is being written looks inconsistent for a moment: whatever is found is looked for a second
time, and only what is still there is reported.

With a token instead of client credentials: MEDPLUM_BASE_URL and MEDPLUM_TOKEN.
Exit status: 0 without errors, 1 with errors or if the check could not be made.`;

async function clientOf(given: CheckArguments): Promise<MedplumClient> {
  const token = process.env.MEDPLUM_TOKEN;
  const baseUrl = given.baseUrl ?? process.env.MEDPLUM_BASE_URL;
  if (!token || !baseUrl) {
    return (await connect(credentialsFrom(given))).medplum;
  }
  const storage = new ClientStorage(new MemoryStorage());
  const medplum = new MedplumClient({ baseUrl: baseUrl.replace(/\/*$/, '/'), cacheTime: 0, storage });
  medplum.setAccessToken(token);
  return medplum;
}

function sourceOf(medplum: MedplumClient): Source {
  return {
    async search(type: ResourceType, query) {
      const found: Resource[] = [];
      const options = { cache: 'no-store' } as const;
      for await (const page of medplum.searchResourcePages(
        type,
        { _sort: '_lastUpdated', _count: '1000', ...query },
        options,
      )) {
        found.push(...page);
      }
      return found;
    },
    async versions(slotId) {
      const { entry = [] } = await medplum.readHistory('Slot', slotId, { count: 1000 });
      return entry.flatMap(({ resource }) => resource ?? []);
    },
  };
}

async function serviceBots(medplum: MedplumClient, config: BookingConfig): Promise<ReadonlySet<string> | undefined> {
  const system = artefactUri(config, 'LocalBot');
  const identifier = Object.keys(botNames).map((name) => `${system}|${name}`);
  const found = await medplum.searchResources('Bot', { identifier: identifier.join(','), _count: 100 });
  const client = await medplum.searchOne('ClientApplication', { 'name:exact': GATEWAY_CLIENT });
  const authors = [...found.map(({ id }) => `Bot/${id}`), ...(client ? [`ClientApplication/${client.id}`] : [])];
  return found.length > 0 ? new Set(authors) : undefined;
}

/** What a check has found, and how much it has looked at. */
export interface Check {
  readonly findings: readonly Finding[];
  /** Number of resources read. */
  readonly checked: number;
}

async function checkOnce(medplum: MedplumClient, config: BookingConfig, schedules: readonly string[]): Promise<Check> {
  const bots = await serviceBots(medplum, config);
  const source = sourceOf(medplum);
  const { state, stretches } = await readStored(source, config, schedules, bots);
  const originSystem = artefactUri(config, 'LocalSlotOrigin');
  const context = { now: Date.now(), config, originSystem, stretches, ...(bots && { bots }) };
  const offered = await readOfferedBefore(source, doubtfulSlots(state, context));
  return { findings: checkConsistency(state, { ...context, offered }), checked: state.size };
}

/** The longest duration of a booking, in milliseconds. */
const LONGEST_BOOKING = 2_000;

/**
 * Checks what a project has stored, twice if anything is found: what is being written at the moment is no finding.
 *
 * @param schedules - references to the schedules to check; without any, the whole project
 */
export async function checkProject(
  medplum: MedplumClient,
  config: BookingConfig,
  schedules: readonly string[] = [],
): Promise<Check> {
  const first = await checkOnce(medplum, config, schedules);
  if (first.findings.length === 0) {
    return first;
  }
  await setTimeout(LONGEST_BOOKING);
  const known = new Set(first.findings.map((finding) => JSON.stringify(finding)));
  const second = await checkOnce(medplum, config, schedules);
  return { ...second, findings: second.findings.filter((finding) => known.has(JSON.stringify(finding))) };
}

/** What does not agree in a whole project; see {@link checkProject}. */
export async function findInconsistencies(medplum: MedplumClient, config: BookingConfig): Promise<readonly Finding[]> {
  return (await checkProject(medplum, config)).findings;
}

const head = ['severity', 'rule', 'resource', 'found'];

function report({ findings, checked }: Check): string {
  const rows = findings.map(({ severity, rule, resource, diagnostics }) => [severity, rule, resource, diagnostics]);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const summary = `${checked} resources checked: ${errors} errors, ${findings.length - errors} warnings.`;
  return rows.length > 0 ? `${formatTable(head, rows)}\n\n${summary}` : summary;
}

async function main(): Promise<void> {
  const given = withCredentials(new Command())
    .name('npm run check:consistency --')
    .description('Checks that appointments, slots and related resources are consistent. It changes nothing.')
    .option('--schedule <references...>', 'check these schedules only (Schedule/123)')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', explanation)
    .parse()
    .opts<CheckArguments>();
  const medplum = await clientOf(given);
  const check = await checkProject(medplum, loadConfig(given.config), given.schedule);
  console.log(given.json ? JSON.stringify(check, undefined, 2) : report(check));
  process.exitCode = check.findings.some(({ severity }) => severity === 'error') ? 1 : 0;
}

await runAsProgram(import.meta.url, main);
