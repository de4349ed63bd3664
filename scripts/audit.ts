import { writeFileSync } from 'node:fs';
import { audit, type Finding, logIn, readHistories, readTerms } from '@appointment-booking/conformance';
import type { Command } from 'commander';
import { isLocalDay } from '../core/time/local-day.ts';
import { formatTable } from './cli/table.ts';
import { wholeNumber } from './cli/whole-number.ts';

interface Arguments {
  readonly baseUrl: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenUrl?: string;
  readonly from?: string;
  readonly to?: string;
  readonly schedule?: string;
  readonly capacity: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly within: number;
  readonly limit: number;
  readonly json?: string;
}

const instant = (time: number): string => (Number.isFinite(time) ? new Date(time).toISOString() : '?');

function rowOf({ kind, from, until, schedule, time, resources, says }: Finding): string[] {
  const lasted = until === undefined ? 'it lasts' : `${((until - from) / 1_000).toFixed(1)} s`;
  const what = `${instant(time.start).slice(0, 16)}–${instant(time.end).slice(11, 16)}`;
  return [kind, instant(from), lasted, what, schedule, `${says}: ${resources.join(', ')}`];
}

async function main(given: Arguments): Promise<void> {
  const { baseUrl, clientId, tokenUrl, from, to, schedule, limit, json } = given;
  if ([from, to].some((text) => text !== undefined && !isLocalDay(text))) {
    throw new Error('--from and --to must be days such as 2027-01-31.');
  }
  const client = await logIn({
    baseUrl,
    clientId,
    tokenUrl,
    token: process.env.AUDIT_TOKEN,
    clientSecret: given.clientSecret ?? process.env.AUDIT_CLIENT_SECRET,
  });
  const { versions, isCut } = await readHistories({
    client,
    limit,
    ...(from && { from }),
    ...(to && { to }),
    ...(schedule && { schedule }),
  });
  const schedules = new Set(
    versions.flatMap(({ resource }) =>
      resource?.resourceType === 'Slot' ? (/Schedule\/[^/]+/.exec(resource.schedule.reference ?? '')?.[0] ?? []) : [],
    ),
  );
  const terms = { capacity: given.capacity, before: given.bufferBefore, after: given.bufferAfter };
  const known = await readTerms(client, schedules, terms);
  const findings = audit(versions, {
    termsOf: (reference) => known.get(reference) ?? terms,
    within: given.within * 1_000,
    now: Date.now(),
  });
  const counts = { versions: versions.length, schedules: schedules.size, findings: findings.length };
  if (json) {
    const listed = findings.map(({ until, time, ...one }) => ({
      ...one,
      from: instant(one.from),
      ...(until !== undefined && { until: instant(until) }),
      start: instant(time.start),
      end: instant(time.end),
    }));
    writeFileSync(json, `${JSON.stringify({ baseUrl, ...counts, isCut, findings: listed }, undefined, 2)}\n`);
  }
  if (findings.length > 0) {
    console.log(`${formatTable(['what', 'since', 'for', 'time', 'schedule', 'why'], findings.map(rowOf))}\n`);
  }
  console.log(
    `${counts.findings} findings in ${counts.versions} versions of Appointments and Slots on ${counts.schedules} Schedules.` +
      (isCut ? ` There were more than --limit ${limit}: what was not read was not judged.` : ''),
  );
  process.exitCode = findings.length > 0 ? 1 : versions.length > 0 ? 0 : 2;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Reads the histories of Appointments and Slots of any FHIR server, and lists every moment at which time was sold ' +
        'twice, lost, or offered and not bookable. It only reads.',
    )
    .requiredOption('--base-url <url>', 'FHIR base address of the server')
    .option('--client-id <id>', 'credentials of somebody who may read them')
    .option('--client-secret <secret>', 'their secret (better: AUDIT_CLIENT_SECRET, or AUDIT_TOKEN)')
    .option('--token-url <url>', 'where tokens are issued (default: found by SMART or OpenID discovery)')
    .option('--from <day>', 'first day of the appointments')
    .option('--to <day>', 'the day after the last')
    .option('--schedule <reference>', 'one Schedule alone')
    .option('--capacity <number>', 'appointments at a time, where nothing is published', wholeNumber(1, 100), 1)
    .option('--buffer-before <minutes>', 'time that is needed before each', wholeNumber(0, 600), 0)
    .option('--buffer-after <minutes>', 'time that is needed after each', wholeNumber(0, 600), 0)
    .option('--within <seconds>', 'for how long Slots may be behind appointments', wholeNumber(0, 86_400), 5)
    .option('--limit <number>', 'how many resources of a type are read at most', wholeNumber(1, 1_000_000), 10_000)
    .option('--json <file>', 'write the findings as JSON')
    .addHelpText('after', '\nExit status: 0 if nothing was found, 1 otherwise, 2 if there was nothing to read.')
    .action(main);
}
