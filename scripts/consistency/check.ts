import { setTimeout } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Command } from 'commander';
import { bots as botNames } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { checkConsistency, type Finding } from '../../core/consistency/check.ts';
import { rules } from '../../core/consistency/finding.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import type { ResourceSet } from '../../core/rows/resource-set.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from '../cli/credentials.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { GATEWAY_CLIENT } from '../deploy/gateway-client.ts';
import { clientAt, connect } from '../medplum/connect.ts';
import { searchAll } from '../medplum/project.ts';
import { versionsOf } from '../person/read.ts';
import { findUnpublished, type OnProgress } from './published.ts';
import { readStored, type Source } from './read.ts';
import { remediesFor, repair } from './repair.ts';

interface CheckArguments extends CredentialArguments {
  readonly schedule?: readonly string[];
  readonly repair?: boolean;
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
While bookings go on, what is being written looks inconsistent for a moment: whatever is found is checked a second
time, and only what is still there is reported.

With --repair, the Bots of the service mend it by the rules of daily work: the slots of an appointment follow its status,
slots that nothing holds are released, and schedules are published again. Two bookings at one time, and whatever else has
no single right answer, are listed for a person to decide.

With a token instead of client credentials: MEDPLUM_BASE_URL and MEDPLUM_TOKEN.
Exit status: 0 without errors, 1 with errors or if the check could not be made.`;

async function clientOf(given: CheckArguments): Promise<MedplumClient> {
  const token = process.env.MEDPLUM_TOKEN;
  const baseUrl = given.baseUrl ?? process.env.MEDPLUM_BASE_URL;
  if (!token || !baseUrl) {
    return (await connect(credentialsFrom(given))).medplum;
  }
  const medplum = clientAt(baseUrl);
  medplum.setAccessToken(token);
  return medplum;
}

function sourceOf(medplum: MedplumClient): Source {
  return {
    search: (type, query) => searchAll(medplum, type, { _sort: '_lastUpdated', ...query }),
    versions: (id) => versionsOf(medplum, 'Appointment', id),
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

/** The result of a check. */
export interface Check {
  readonly findings: readonly Finding[];
  readonly checked: number;
  readonly state: ResourceSet;
}

interface Scope {
  /** References to the schedules to check; without any, the whole project. */
  readonly schedules?: readonly string[];
  readonly onProgress?: OnProgress;
}

async function checkOnce(
  medplum: MedplumClient,
  config: BookingConfig,
  { schedules = [], onProgress }: Scope,
): Promise<Check> {
  const bots = await serviceBots(medplum, config);
  const source = sourceOf(medplum);
  const state = await readStored(source, config, schedules);
  const missing = schedules.find((reference) => !state.has(reference));
  if (missing !== undefined) {
    throw new Error(`There is no ${missing}. Name schedules as Schedule/123.`);
  }
  const context = { now: Date.now(), config, ...(bots && { bots }) };
  const findings = [
    ...checkConsistency(state, context),
    ...(await findUnpublished(medplum, state, schedules, context.now, config, onProgress)),
  ];
  return { findings, checked: state.size, state };
}

/** The longest duration of a booking, in milliseconds. */
const MAX_BOOKING = 2_000;

const sameAs = ({ rule, resource }: Finding): string => `${rule} ${resource}`;

/** Checks the stored data of a project. If anything is found, it checks again: a write in progress is no finding. */
export async function checkProject(medplum: MedplumClient, config: BookingConfig, scope: Scope = {}): Promise<Check> {
  const first = await checkOnce(medplum, config, scope);
  if (first.findings.length === 0) {
    return first;
  }
  await setTimeout(MAX_BOOKING);
  const known = new Set(first.findings.map(sameAs));
  const second = await checkOnce(medplum, config, scope);
  return { ...second, findings: second.findings.filter((finding) => known.has(sameAs(finding))) };
}

/** The result of a repair: findings that were repaired, failed repairs, and remaining findings. */
export interface Repair {
  readonly mended: readonly Finding[];
  readonly failures: readonly string[];
  readonly left: Check;
}

/** Checks a project, repairs findings that have one right remedy, and checks again. */
export async function repairProject(medplum: MedplumClient, config: BookingConfig, scope: Scope = {}): Promise<Repair> {
  const before = await checkProject(medplum, config, scope);
  const planned = remediesFor(before.findings, before.state, config);
  const failures = await repair(medplum, planned, config, scope.onProgress);
  const left = planned.length > 0 ? await checkProject(medplum, config, scope) : before;
  const still = new Set(left.findings.map(sameAs));
  return { mended: before.findings.filter((finding) => !still.has(sameAs(finding))), failures, left };
}

/** The findings in a whole project; see {@link checkProject}. */
export async function findInconsistencies(medplum: MedplumClient, config: BookingConfig): Promise<readonly Finding[]> {
  return (await checkProject(medplum, config)).findings;
}

const head = ['severity', 'rule', 'resource', 'found'];

const rowsOf = (findings: readonly Finding[]): string[][] =>
  findings.map(({ severity, rule, resource, diagnostics }) => [severity, rule, resource, diagnostics]);

function report({ findings, checked }: Check): string {
  const rows = rowsOf(findings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const summary = `${checked} resources checked: ${errors} errors, ${findings.length - errors} warnings.`;
  return rows.length > 0 ? `${formatTable(head, rows)}\n\n${summary}` : summary;
}

function reportRepair({ mended, failures, left }: Repair): string {
  const parts = [
    ...(mended.length > 0 ? [`Mended:\n${formatTable(head, rowsOf(mended))}`] : ['Nothing was mended.']),
    ...failures.map((failure) => `Failed: ${failure}`),
    ...(left.findings.length > 0 ? ['Left, for a person to decide:'] : []),
  ];
  return `${parts.join('\n\n')}\n\n${report(left)}`;
}

function showProgress(done: number, all: number): void {
  if (done > 0 && done % 100 === 0) {
    console.error(`${done} of ${all}`);
  }
}

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description(
      'Checks that appointments, slots, opening hours and related resources agree. It changes nothing without --repair.',
    )
    .option('--schedule <references...>', 'check these schedules only (Schedule/123)')
    .option('--repair', 'mend what has one right answer, and list the rest')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', explanation)
    .action(main);
}

async function main(given: CheckArguments): Promise<void> {
  const medplum = await clientOf(given);
  const config = loadConfig(given.config);
  const scope: Scope = { onProgress: showProgress, ...(given.schedule && { schedules: given.schedule }) };
  const repaired = given.repair ? await repairProject(medplum, config, scope) : undefined;
  const check = repaired?.left ?? (await checkProject(medplum, config, scope));
  const { findings, checked } = check;
  const plain = { ...(repaired && { mended: repaired.mended, failures: repaired.failures }), findings, checked };
  const text = repaired ? reportRepair(repaired) : report(check);
  console.log(given.json ? JSON.stringify(plain, undefined, 2) : text);
  const isInOrder = findings.every(({ severity }) => severity !== 'error') && !repaired?.failures.length;
  process.exitCode = isInOrder ? 0 : 1;
}
