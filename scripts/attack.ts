import { spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import {
  type Adapter,
  type AttackFindings,
  acts,
  adapters,
  attack,
  type Client,
  clientOf,
  hasEvents,
  isTestServer,
  kinds,
  type Listener,
  listen,
  NEUROLOGY,
  resultOf,
  rules,
  violationTable,
} from '@appointment-booking/conformance';
import type { Bundle } from '@medplum/fhirtypes';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { BookingConfig } from '../core/config/config.ts';
import { formatTable } from './cli/table.ts';
import { wholeNumber } from './cli/whole-number.ts';

/** Command line options of an attack. */
export interface AttackArguments {
  readonly attack?: boolean;
  readonly adapter: string;
  readonly staffAdapter: string;
  readonly seconds: number;
  readonly portals: number;
  readonly acts: number;
  readonly seed?: number;
  readonly within: number;
  readonly calendars?: readonly string[];
  readonly schedule?: string;
  readonly capacity: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly restart?: string;
  readonly thisServerIsForTests?: boolean;
}

/** Adds the options of an attack to the command. */
export function defineAttack(command: Command): void {
  command
    .option('--attack', 'portals and staff act at once, and what they are answered is judged, instead of the checks')
    .option('--adapter <name>', `interface of the portals: ${Object.keys(adapters).join(', ')}, or a JSON file`, 'isik')
    .option('--staff-adapter <name>', 'interface of staff', 'staff')
    .option('--seconds <number>', 'how long to attack', wholeNumber(1), 60)
    .option('--portals <number>', 'how many portals act at once', wholeNumber(1, 50), 3)
    .option('--acts <number>', 'how often each acts before everything is compared', wholeNumber(1, 50), 8)
    .option('--seed <number>', 'decides what is random (default: by chance)', wholeNumber(0))
    .option('--within <seconds>', 'how soon what is given back must be on offer', wholeNumber(0, 600), 5)
    .addOption(new Option('--calendars <kinds...>', 'which calendars staff make').choices(kinds))
    .option('--schedule <reference>', 'a Schedule that is prepared, where the kit has no access as staff')
    .option('--capacity <number>', 'how many appointments it takes at a time', wholeNumber(1, 100), 1)
    .option('--buffer-before <minutes>', 'the time that it needs before each', wholeNumber(0, 600), 0)
    .option('--buffer-after <minutes>', 'the time that it needs after each', wholeNumber(0, 600), 0)
    .option('--restart <command>', 'ends and starts the server, now and then while it is attacked')
    .option('--this-server-is-for-tests', 'attack a server that is not on this machine, if it says so itself as well');
}

const answers = z.strictObject({ status: z.array(z.int().min(200).max(599)), that: z.string().optional() });

const step = z.strictObject({
  request: z.string().regex(/^(GET|POST|PUT|PATCH|DELETE) \//, { error: 'must be a method and a path' }),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  keep: z.string().optional(),
  done: answers,
  refused: z.array(answers).optional(),
});

const adapterSchema = z.strictObject({
  title: z.string(),
  find: z.string().startsWith('/'),
  acts: z.partialRecord(z.enum(acts), z.array(step)),
  gaveWay: z.string().optional(),
  overbooks: z.string().optional(),
  everyPlace: z.boolean().optional(),
  parts: z.boolean().optional(),
  reset: step.optional(),
});

function adapterFrom(name: string): Adapter {
  const known: Readonly<Record<string, Adapter>> = adapters;
  const own = Object.hasOwn(known, name) ? known[name] : undefined;
  if (own) {
    return own;
  }
  if (!name.endsWith('.json')) {
    throw new Error(`There is no adapter ${name}: choose ${Object.keys(known).join(', ')}, or a JSON file.`);
  }
  const parsed = adapterSchema.safeParse(JSON.parse(readFileSync(name, 'utf8')));
  if (!parsed.success) {
    throw new Error(`${name}:\n${z.prettifyError(parsed.error)}`);
  }
  return parsed.data as Adapter;
}

/** Maximum time for the start of a server, in milliseconds. */
const START = 120_000;

async function answersAgain(client: Client): Promise<void> {
  const end = performance.now() + START;
  for (;;) {
    const response = await client.send({ method: 'GET', path: '/metadata' }).catch(() => undefined);
    if (response?.status === 200) {
      return;
    }
    if (performance.now() > end) {
      throw new Error('The server does not answer after its restart.');
    }
    await setTimeout(500);
  }
}

async function restartBy(command: string, client: Client): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', reject).once('exit', resolve);
  });
  if (code !== 0) {
    throw new Error(`${command}: exit status ${code}.`);
  }
  await answersAgain(client);
}

function summaryOf({ rounds, operations, booked, notifiedCount, undecided, ignored }: AttackFindings): string {
  const unclear = undecided > 0 ? `, ${undecided} rounds with too many orders to decide` : '';
  const others = [...ignored].sort((one, other) => other[1] - one[1]).slice(0, 5);
  const claims = others.map(([told, count]) => `  ${count} × ${told}`);
  const notifications =
    notifiedCount === undefined ? 'Notifications were not looked at' : `${notifiedCount} events were told`;
  return [
    `${operations} operations in ${rounds} rounds, ${booked} of them took time${unclear}. ${notifications}.`,
    ...(claims.length > 0 ? ['Answers that claim nothing:', ...claims] : []),
  ].join('\n');
}

interface Subject {
  readonly baseUrl: string;
  readonly staffUrl?: string;
  readonly config: BookingConfig;
  /** Clients of the service. The portals use them in rotation. */
  readonly requestors: readonly Client[];
  readonly staff?: Client;
  readonly serviceType: { readonly system: string; readonly code: string };
  readonly from: number;
  readonly json?: string;
  /** Endpoint of notifications: a public address and the port that it leads to, or loopback. */
  readonly hookUrl?: string;
  readonly hookPort?: string;
}

/** Percentage of notifications that are refused. They must be sent again, in order. */
const REFUSED = 6;

/** An endpoint that refuses some notifications; `undefined` if the server cannot reach this machine. */
async function endpointFor({ hookUrl, hookPort, baseUrl }: Subject): Promise<Listener | undefined> {
  const isReached = hookUrl !== undefined || (await isTestServer(clientOf(baseUrl), false));
  const refuses = (bundle: Bundle): boolean => hasEvents(bundle) && randomInt(100) < REFUSED;
  return isReached ? listen({ port: Number(hookPort ?? 0), ...(hookUrl && { url: hookUrl }), refuses }) : undefined;
}

/** Throws unless the server is a test server; see {@link isTestServer}. */
async function assertForTests(given: AttackArguments, { baseUrl, staffUrl }: Subject): Promise<void> {
  for (const url of [baseUrl, ...(staffUrl ? [staffUrl] : [])]) {
    if (!(await isTestServer(clientOf(url), given.thisServerIsForTests === true))) {
      throw new Error(
        `${url} is not on this machine. To attack it, its CapabilityStatement must say "experimental": true, and you ` +
          '--this-server-is-for-tests. What is booked there is lost, and its staff are kept busy.',
      );
    }
  }
}

/**
 * Attacks a booking service and prints the result. Exit status: 1 if a rule is broken, 2 if the attack showed nothing.
 *
 * @throws Error that names the missing setting
 */
export async function runAttack(given: AttackArguments, subject: Subject): Promise<void> {
  await assertForTests(given, subject);
  const { config, requestors, staff, serviceType, from } = subject;
  const adapter = adapterFrom(given.adapter);
  const [requestor] = requestors;
  if (!requestor) {
    throw new Error('There is no requestor.');
  }
  const seed = given.seed ?? randomInt(2 ** 31);
  process.stderr.write(`seed ${seed}\n`);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const end = performance.now() + given.seconds * 1_000;
  const listener = await endpointFor(subject);
  const terms = { capacity: given.capacity, before: given.bufferBefore, after: given.bufferAfter };
  const findings = await attack({
    portals: Array.from({ length: given.portals }, (_, index) => ({
      client: requestors[index % requestors.length] ?? requestor,
      adapter,
    })),
    ...(staff && { staff: { client: staff, adapter: adapterFrom(given.staffAdapter) } }),
    ...(listener && { listener }),
    kinds: kinds.filter((kind) => given.calendars?.includes(kind) ?? true),
    ...(given.schedule && { given: { schedule: given.schedule, terms } }),
    constants: { config, uri: config.uris, serviceType, specialty: NEUROLOGY, run: randomUUID() },
    from,
    seed,
    bounds: { within: given.within * 1_000, stateLimit: 50_000 },
    acts: given.acts,
    rounds: 4,
    goesOn: () => performance.now() < end && !interrupted.signal.aborted,
    onRound: ({ operations, violations }, { title }) => {
      const outcome = violations.length > 0 ? 'broken' : 'holds';
      process.stderr.write(`${outcome.padEnd(7)} ${title}: ${operations} operations\n`);
    },
    ...(given.restart && { restart: () => restartBy(given.restart ?? '', requestor) }),
  }).finally(() => listener?.close());
  const result = resultOf(findings);
  if (subject.json) {
    const text = JSON.stringify({ ...findings, ignored: [...findings.ignored], result, seed }, undefined, 2);
    writeFileSync(subject.json, `${text}\n`);
  }
  const results = {
    pass: `No rule is broken: ${Object.entries(rules)
      .flatMap(([rule, says]) => (rule === 'told' && findings.notifiedCount === undefined ? [] : says))
      .join('; ')}.`,
    fail: '',
    undecided: findings.booked === 0 ? 'Nothing was booked: nothing is shown.' : 'Not decided within the bounds.',
  };
  console.log(
    [
      ...findings.violations.map((violation) => violationTable(violation, formatTable)),
      summaryOf(findings),
      results[result],
    ]
      .filter((text) => text !== '')
      .join('\n\n'),
  );
  process.exitCode = { pass: 0, fail: 1, undecided: 2 }[result];
}
