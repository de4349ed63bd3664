import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Command } from 'commander';
import { z } from 'zod';
import type { BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { versionIn } from '../medplum/version.ts';
import { findInstallation, type Installation } from './installation.ts';

const packageSchema = z.object({ version: z.string() });

const readySchema = z.object({ bots: z.string() });

const jsonOf = (url: string): Promise<unknown> =>
  fetch(url)
    .then((response): Promise<unknown> => response.json())
    .catch(() => undefined);

/** The runtime of the Bots that a gateway calls. */
export const runtimeOf = async (base: string): Promise<string> =>
  readySchema.safeParse(await jsonOf(new URL('/readyz', base).href)).data?.bots ?? 'medplum';

/** Machine and versions of a measurement. Figures from different ones are not comparable. */
async function describeCircumstances({ medplum }: Installation, now: number) {
  const health = await jsonOf(new URL('/healthcheck', medplum).href);
  const [first] = cpus();
  return {
    date: new Date(now).toISOString().slice(0, 10),
    processor: first?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.versions.node,
    medplum: versionIn(health) ?? 'unknown',
    service: packageSchema.parse(JSON.parse(readFileSync('package.json', 'utf8'))).version,
  };
}

const load = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10;

interface Figures {
  /** Title of the table, in one line. */
  readonly what: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

type Print = (figures: Figures) => void;

/**
 * Begins a measurement.
 *
 * @returns prints its figures as a table or as JSON
 */
async function observe(installation: Installation, asJson = false): Promise<Print> {
  const circumstances = await describeCircumstances(installation, Date.now());
  const { date, processor, cores, memoryGb, node, medplum, service } = circumstances;
  const before = load();
  return (figures) => {
    const { what, columns, rows } = figures;
    const after = load();
    const text = [
      `${date}, ${processor}, ${cores} cores, ${memoryGb} GB, Node.js ${node}`,
      `Medplum ${medplum}, service ${service}`,
      `${what}; load of the machine ${before} before and ${after} after`,
      ...(Math.max(before, after) > cores
        ? [`The machine has ${cores} cores and was busier than that: repeat it on a quiet one.`]
        : []),
      `\n${formatTable(columns, rows)}`,
    ];
    const json = { circumstances, load: [before, after], ...figures };
    console.log(asJson ? JSON.stringify(json, undefined, 2) : text.join('\n'));
  };
}

/** The measured installation, and the output of the figures. */
export interface Bench {
  readonly installation: Installation;
  readonly config: BookingConfig;
  readonly print: Print;
}

/** Adds the common options to a command, and runs its measurement. */
export function measures<T>(command: Command, run: (given: T, bench: Bench) => Promise<void>): void {
  command
    .option('--json', 'print the figures as JSON')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(async (given: T & { readonly json?: boolean; readonly config?: string }) => {
      const config = loadConfig(given.config);
      const installation = await findInstallation(process.env);
      await run(given, { installation, config, print: await observe(installation, given.json) });
    });
}
