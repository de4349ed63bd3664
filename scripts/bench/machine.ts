import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { z } from 'zod';
import { formatTable } from '../cli/table.ts';
import { versionIn } from '../medplum/version.ts';
import type { Installation } from './installation.ts';

/** What the measurement ran on: figures from different machines or versions are not comparable. */
export const circumstancesSchema = z.object({
  date: z.string(),
  processor: z.string(),
  cores: z.number(),
  memoryGb: z.number(),
  node: z.string(),
  medplum: z.string(),
  service: z.string(),
});

/** What the measurement ran on. */
export type Circumstances = z.infer<typeof circumstancesSchema>;

const packageSchema = z.object({ version: z.string() });

const readySchema = z.object({ bots: z.string() });

const jsonOf = (url: string): Promise<unknown> =>
  fetch(url)
    .then((response): Promise<unknown> => response.json())
    .catch(() => undefined);

/** Where the Bots that a gateway calls run. */
export const runtimeOf = async (base: string): Promise<string> =>
  readySchema.safeParse(await jsonOf(new URL('/readyz', base).href)).data?.bots ?? 'medplum';

/** Describes this machine, and the installation that is measured. */
export async function describeCircumstances({ medplum }: Installation, now: number): Promise<Circumstances> {
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

/** The load average of this machine over the last minute. */
export const load = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10;

/** The circumstances as two lines. */
export function circumstancesText({ date, processor, cores, memoryGb, ...versions }: Circumstances): string {
  const { node, medplum, service } = versions;
  return (
    `${date}, ${processor}, ${cores} cores, ${memoryGb} GB, Node.js ${node}\n` +
    `Medplum ${medplum}, service ${service}`
  );
}

/** What makes figures doubtful: a machine that was busy with more than it has cores for. */
export const doubts = ({ cores }: Circumstances, loads: readonly number[]): string[] =>
  Math.max(...loads) > cores
    ? [`The machine has ${cores} cores and was busier than that: repeat it on a quiet one.`]
    : [];

/** A table of figures. */
interface Figures {
  /** What was measured, in one line. */
  readonly what: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * Begins a measurement.
 *
 * @returns prints its figures and what they were measured on, as a table or as JSON
 */
export async function observe(
  installation: Installation,
): Promise<(figures: Figures, asJson: boolean | undefined) => void> {
  const circumstances = await describeCircumstances(installation, Date.now());
  const atFirst = load();
  return (figures, asJson) => {
    const { what, columns, rows } = figures;
    const loads = [atFirst, load()];
    const [before, after] = loads;
    const text = [
      circumstancesText(circumstances),
      `${what}; load of the machine ${before} before and ${after} after`,
      ...doubts(circumstances, loads),
      `\n${formatTable(columns, rows)}`,
    ];
    console.log(asJson ? JSON.stringify({ circumstances, load: loads, ...figures }, undefined, 2) : text.join('\n'));
  };
}

/** How the circumstances of two measurements differ, apart from the date. */
export function differences(before: Circumstances, after: Circumstances): string[] {
  const keys = ['processor', 'cores', 'memoryGb', 'node', 'medplum', 'service'] as const;
  return keys.flatMap((key) => (before[key] === after[key] ? [] : [`${key}: ${before[key]} → ${after[key]}`]));
}
