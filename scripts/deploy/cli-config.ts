import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const botSchema = z.looseObject({ name: z.string(), id: z.string(), source: z.string(), dist: z.string().optional() });
const cliConfigSchema = z.looseObject({ baseUrl: z.string().optional(), bots: z.array(botSchema).optional() });

/** `medplum.config.json`, as Medplum's command line tool reads it. */
export type CliConfig = z.infer<typeof cliConfigSchema>;

/**
 * Enters the deployed Bots into the configuration of Medplum's command line tool; what else stands there stays.
 *
 * @param existing - the parsed file, if there is one
 * @param ids - id of each deployed Bot, by name
 * @throws Error when the existing file is not such a configuration
 */
export function withBots(existing: unknown, baseUrl: string, ids: Readonly<Record<string, string>>): CliConfig {
  const parsed = cliConfigSchema.safeParse(existing ?? {});
  if (!parsed.success) {
    throw new Error(`medplum.config.json is not usable; repair or delete it.\n${z.prettifyError(parsed.error)}`);
  }
  const others = (parsed.data.bots ?? []).filter(({ name }) => !(name in ids));
  const own = Object.entries(ids).map(([name, id]) => ({
    name,
    id,
    source: `bots/${name}.ts`,
    dist: `dist/bots/${name}.js`,
  }));
  return { ...parsed.data, baseUrl, bots: [...others, ...own] };
}

/**
 * Writes `medplum.config.json`, so that `npx medplum bot deploy <name>` finds the Bots.
 *
 * @param file - path of the file
 */
export function writeCliConfig(file: string, baseUrl: string, ids: Readonly<Record<string, string>>): void {
  const existing: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  writeFileSync(file, `${JSON.stringify(withBots(existing, baseUrl, ids), undefined, 2)}\n`);
}
