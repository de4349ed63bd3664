import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type BotName, botSource } from '../../core/config/bots.ts';

const botSchema = z.looseObject({ name: z.string(), id: z.string(), source: z.string(), dist: z.string().optional() });
const cliConfigSchema = z.looseObject({
  baseUrl: z.string().optional(),
  bots: z.array(botSchema).optional(),
  bookingConfig: z.string().optional(),
  gatewayClient: z.string().optional(),
});

/** Properties of a deployment in the configuration of Medplum's command line tool, besides the Bots. */
interface Remembered {
  /** Path of the configuration of the Bots: `npm run build` reads it again. */
  readonly bookingConfig?: string | undefined;
  /** Id of the gateway's client, which is built into the Bots, too. */
  readonly gatewayClient?: string | undefined;
}

export const CLI_CONFIG = 'medplum.config.json';

/** `medplum.config.json` of Medplum's command line tool. Our extensions: `bookingConfig` and `gatewayClient`. */
type CliConfig = z.infer<typeof cliConfigSchema>;

/**
 * Adds the deployed Bots to the configuration of Medplum's command line tool. Everything else in it stays.
 *
 * @param existing - the parsed file, if there is one
 * @param ids - id of each deployed Bot, by name
 * @throws Error when the existing file is not such a configuration
 */
export function withBots(
  existing: unknown,
  baseUrl: string,
  ids: Readonly<Partial<Record<BotName, string>>>,
  { bookingConfig, gatewayClient }: Remembered = {},
): CliConfig {
  const parsed = cliConfigSchema.safeParse(existing ?? {});
  if (!parsed.success) {
    throw new Error(`medplum.config.json is not usable; repair or delete it.\n${z.prettifyError(parsed.error)}`);
  }
  const { gatewayClient: _, ...kept } = parsed.data;
  const others = (parsed.data.bots ?? []).filter(({ name }) => !(name in ids));
  const own = (Object.entries(ids) as [BotName, string][]).map(([name, id]) => ({
    name,
    id,
    source: botSource(name),
    dist: `dist/bots/${name}.js`,
  }));
  const remembered = { ...(bookingConfig && { bookingConfig }), ...(gatewayClient && { gatewayClient }) };
  return { ...kept, baseUrl, ...remembered, bots: [...others, ...own] };
}

const readExisting = (file: string): unknown => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);

/** Writes `medplum.config.json`, so that `npx medplum bot deploy <name>` finds the Bots. */
export function writeCliConfig(
  file: string,
  baseUrl: string,
  ids: Readonly<Partial<Record<BotName, string>>>,
  remembered: Remembered = {},
): void {
  const config = withBots(readExisting(file), baseUrl, ids, remembered);
  writeFileSync(file, `${JSON.stringify(config, undefined, 2)}\n`);
}

/**
 * Reads the target of Medplum's command line tool: the address of Medplum, the path of the configuration of the Bots,
 * and the gateway's client. An unusable or missing file gives an empty object.
 */
export function readCliConfig(file: string): Pick<CliConfig, 'baseUrl'> & Remembered {
  return cliConfigSchema.safeParse(readExisting(file) ?? {}).data ?? {};
}
