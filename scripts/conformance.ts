import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  allChecks,
  type Check,
  checksOf,
  clientOf,
  count,
  describeCheck,
  type Given,
  jsonReport,
  junitReport,
  type Listener,
  listen,
  logIn,
  type Need,
  needs,
  type Result,
  runChecks,
  type Stage,
  serviceTypeToBook,
  stageOf,
  tableReport,
} from '@appointment-booking/conformance';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { BookingConfig } from '../core/config/config.ts';
import { presets } from '../core/config/presets.ts';
import { resolveConfig } from '../core/config/resolve.ts';
import { type AttackArguments, defineAttack, runAttack } from './attack.ts';
import { loadConfig, loadSettings } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';

interface ConformanceArguments extends AttackArguments {
  readonly baseUrl: string;
  readonly stage?: Stage;
  readonly config?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenUrl?: string;
  readonly staffUrl?: string;
  readonly staffClientId?: string;
  readonly staffClientSecret?: string;
  readonly staffTokenUrl?: string;
  readonly data?: string;
  readonly serviceType?: string;
  readonly from?: string;
  readonly hookUrl?: string;
  readonly hookPort?: string;
  readonly only?: readonly string[];
  readonly list?: boolean;
  readonly json?: string;
  readonly junit?: string;
}

const DAY = 86_400_000;

/** Days from today to the appointments of the tests. */
const AHEAD = 30;

/** Days from today to the appointments of an attack: a day that services publish. */
const ATTACK_AHEAD = 14;

const explanation = `
Secrets are better given in the environment: CONFORMANCE_CLIENT_SECRET or CONFORMANCE_TOKEN (a bearer token, instead of
credentials), CONFORMANCE_STAFF_CLIENT_SECRET or CONFORMANCE_STAFF_TOKEN. For --attack, CONFORMANCE_FURTHER_TOKENS has the
tokens of further portals, separated by commas.

Without access as staff, prepare the following in a JSON file (--data): references by name, several where each check
uses one up, for example { "schedule": ["Schedule/1"], "slot": ["Slot/1", "Slot/2"] }.
${Object.entries(needs)
  .map(([name, description]) => `  ${name.padEnd(20)}${description}`)
  .join('\n')}

Exit status: 0 if no binding rule is broken, 1 otherwise. Skipped checks do not count; the report names what they need.
Everything that the checks create is cleaned up: Subscriptions are ended, appointments cancelled, patients set inactive;
with access as staff it is deleted.`;

const givenSchema = z.partialRecord(
  z.enum(Object.keys(needs) as [Need, ...Need[]], { error: `must be one of ${Object.keys(needs).join(', ')}` }),
  z.array(z.string().regex(/^[A-Z][A-Za-z]+\/[A-Za-z0-9.-]{1,64}$/, { error: 'must be a reference such as Slot/123' })),
);

function readGiven(path: string | undefined): Given {
  if (!path) {
    return {};
  }
  const parsed = givenSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!parsed.success) {
    throw new Error(`${path}:\n${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}

/** The stage, and the configuration of the service or else of the stage. */
function readStage({ stage, config, baseUrl }: ConformanceArguments): { stage: Stage; config: BookingConfig } {
  if (!config) {
    const claimed = stage ?? 'default';
    return { stage: claimed, config: resolveConfig({ preset: claimed, baseUrl: baseUrl.replace(/(?<!\/)\/+$/, '') }) };
  }
  return { stage: stage ?? stageOf(loadSettings(config)), config: loadConfig(config) };
}

function readServiceType(text: string | undefined): { system: string; code: string } | undefined {
  const [, system, code] = /^(.+)\|([^|]+)$/.exec(text ?? '') ?? [];
  if (text && !(system && code)) {
    throw new Error('--service-type must have the form system|code.');
  }
  return system && code ? { system, code } : undefined;
}

/** Ten o'clock UTC, so that the half hours after it fall on one date all over Europe. */
function readFrom(text: string | undefined): number {
  const day = text ?? new Date(Date.now() + AHEAD * DAY).toISOString().slice(0, 10);
  const from = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T10:00:00Z`) : Number.NaN;
  if (!(from > Date.now())) {
    throw new Error('--from must be a day in the future, such as 2027-01-31.');
  }
  return from;
}

const isLocal = (baseUrl: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(baseUrl).hostname);

/** An endpoint on loopback works only for a service on the same machine. */
async function openListener({ baseUrl, hookUrl, hookPort }: ConformanceArguments): Promise<Listener | undefined> {
  return hookUrl || isLocal(baseUrl)
    ? listen({ port: Number(hookPort ?? 0), ...(hookUrl && { url: hookUrl }) })
    : undefined;
}

function selected({ only }: ConformanceArguments): readonly Check[] {
  const checks = allChecks.filter(({ name }) => only?.some((start) => name.startsWith(start)) ?? true);
  if (checks.length === 0) {
    throw new Error(`No check begins with ${only?.join(' or ')}. See --list.`);
  }
  return checks;
}

const progress = ({ check, conclusion }: Result): void => {
  process.stderr.write(`${conclusion.padEnd(9)} ${check.name}\n`);
};

async function parties(given: ConformanceArguments) {
  const { baseUrl, staffUrl } = given;
  const env = process.env;
  const requestor = await logIn({
    baseUrl,
    token: env.CONFORMANCE_TOKEN,
    clientId: given.clientId,
    clientSecret: given.clientSecret ?? env.CONFORMANCE_CLIENT_SECRET,
    tokenUrl: given.tokenUrl,
  });
  const staff =
    staffUrl &&
    (await logIn({
      baseUrl: staffUrl,
      token: env.CONFORMANCE_STAFF_TOKEN,
      clientId: given.staffClientId,
      clientSecret: given.staffClientSecret ?? env.CONFORMANCE_STAFF_CLIENT_SECRET,
      tokenUrl: given.staffTokenUrl,
    }));
  return { requestor, ...(staff && { staff }) };
}

async function examine(given: ConformanceArguments): Promise<void> {
  const { baseUrl } = given;
  const { requestor, staff } = await parties(given);
  const listener = await openListener(given);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  try {
    const { stage, config } = readStage(given);
    const prepared = readGiven(given.data);
    const findings = await runChecks({
      checks: selected(given),
      stage,
      config,
      requestor,
      nobody: clientOf(baseUrl),
      ...(staff && { staff }),
      ...(listener && { listener }),
      given: prepared,
      serviceType: readServiceType(given.serviceType) ?? (await serviceTypeToBook(requestor, prepared.schedule)),
      run: randomUUID(),
      from: readFrom(given.from),
      onResult: progress,
      signal: interrupted.signal,
    });
    const report = { ...findings, baseUrl, stage };
    for (const [path, write] of [[given.json, jsonReport] as const, [given.junit, junitReport] as const]) {
      if (path) {
        writeFileSync(path, write(report));
      }
    }
    console.log(tableReport(report, formatTable));
    process.exitCode = count(findings.results).failed > 0 || findings.left.length > 0 ? 1 : 0;
  } finally {
    await listener?.close();
  }
}

async function attack(given: ConformanceArguments): Promise<void> {
  const { config } = readStage(given);
  const { requestor, ...actors } = await parties(given);
  const further = (process.env.CONFORMANCE_FURTHER_TOKENS ?? '').split(/[\s,]+/).filter((token) => token !== '');
  const requestors = [requestor, ...further.map((token) => clientOf(given.baseUrl, token))];
  const serviceType = readServiceType(given.serviceType) ?? (await serviceTypeToBook(requestor));
  const from = readFrom(given.from ?? new Date(Date.now() + ATTACK_AHEAD * DAY).toISOString().slice(0, 10));
  await runAttack(given, { ...given, ...actors, requestors, config, serviceType, from });
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Examines a booking service with this interface: each rule of the specification, and of a stage of ISiK.',
    )
    .requiredOption('--base-url <url>', 'FHIR base address of the service')
    .addOption(new Option('--stage <name>', 'what the service claims').choices(Object.keys(presets)))
    .option('--config <file>', 'configuration of the service, if it is this one: its names and its preset')
    .option('--client-id <id>', 'credentials of a requestor')
    .option('--client-secret <secret>', 'their secret')
    .option('--token-url <url>', 'where tokens are issued (default: found by SMART or OpenID discovery)')
    .option('--staff-url <url>', 'FHIR base address at which staff keep Schedules, Slots and appointments')
    .option('--staff-client-id <id>', 'credentials of staff')
    .option('--staff-client-secret <secret>', 'their secret')
    .option('--staff-token-url <url>', 'where their tokens are issued')
    .option('--data <file>', 'what the tester has prepared (JSON)')
    .option('--service-type <system|code>', 'what is booked (default: what the service offers)')
    .option('--from <day>', `first day of the appointments (default: in ${AHEAD} days)`)
    .option('--hook-url <url>', 'address at which the service reaches this machine')
    .option('--hook-port <port>', 'port of this machine that the address leads to')
    .option('--only <names...>', 'only the checks whose names begin like this')
    .option('--list', 'print the checks with everything they send and expect, without carrying them out')
    .option('--json <file>', 'write the result as JSON')
    .option('--junit <file>', 'write the result as JUnit XML')
    .addHelpText('after', explanation)
    .action(main);
  defineAttack(command);
}

async function main(given: ConformanceArguments): Promise<void> {
  if (given.list) {
    const { stage } = readStage(given);
    console.log(checksOf(stage, selected(given)).map(describeCheck).join('\n\n'));
    return;
  }
  await (given.attack ? attack(given) : examine(given));
}
