import { createHash } from 'node:crypto';
import type { WithId } from '@medplum/core';
import type { Bot } from '@medplum/fhirtypes';
import { type BotName, bots, scheduledBots } from '../../core/config/bots.ts';
import { type BookingConfig, timeLimits } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import type { Connection } from '../medplum/connect.ts';
import { assignPolicy } from '../medplum/membership.ts';
import type { Change, Report } from '../medplum/report.ts';
import { hasContent } from '../medplum/upsert.ts';

interface BotPlan {
  readonly connection: Connection;
  readonly config: BookingConfig;
  /** Id of the AccessPolicy of the Bots; `undefined` in a dry run before it exists. */
  readonly policyId: string | undefined;
  readonly report: Report;
  readonly dryRun: boolean;
}

/**
 * The file name of a Bot's deployed code. It contains a hash of the code, so that the deployment of the code also
 * records its version.
 */
export function codeTitle(name: string, code: string): string {
  return `${name}.${createHash('sha256').update(code).digest('hex').slice(0, 16)}.js`;
}

/** The Bot that sends messages is not scheduled in an installation without messages. */
const isOnClock = (name: BotName, { messages }: BookingConfig): boolean =>
  name !== 'send-messages' || messages.from !== undefined;

/** The properties of a Bot, besides its code. */
export function botSettings(name: BotName, config: BookingConfig): Omit<Bot, 'id' | 'meta' | 'resourceType'> {
  return {
    identifier: [{ system: artefactUri(config, 'LocalBot'), value: name }],
    name,
    description: bots[name],
    runtimeVersion: config.botRuntime,
    timeout: Math.round(timeLimits(config).bot / 1_000),
    auditEventDestination: ['log'],
    ...(scheduledBots[name] && isOnClock(name, config) && { cronString: scheduledBots[name] }),
  };
}

/** Medplum lets only administrators send e-mails and remove histories. */
export const isAdmin = (name: BotName, config: BookingConfig): boolean =>
  name === 'remove-old-events' || (name === 'send-messages' && isOnClock(name, config));

/** A Bot of an interrupted deployment: created, but without its identifier. */
async function findUnfinished({ medplum }: Connection, name: BotName): Promise<WithId<Bot> | undefined> {
  const sameName = await medplum.searchResources('Bot', { 'name:exact': name });
  return sameName.find((bot) => !bot.identifier && !bot.executableCode && bot.description === bots[name]);
}

async function findBot({ connection, config }: BotPlan, name: BotName): Promise<WithId<Bot> | undefined> {
  const identifier = `${artefactUri(config, 'LocalBot')}|${name}`;
  const [bot, ...others] = await connection.medplum.searchResources('Bot', { identifier });
  if (others.length > 0) {
    throw new Error(
      `The Bot ${name} exists ${others.length + 1} times: two deployments ran at once. Run npm run deploy -- --remove, then ` +
        'deploy again.',
    );
  }
  return bot ?? findUnfinished(connection, name);
}

/** Creates the Bot with its membership in the project, as Medplum's own app does. */
async function createBot({ connection, config, policyId }: BotPlan, name: BotName): Promise<WithId<Bot>> {
  const { medplum, projectId } = connection;
  const { id } = await medplum.post<WithId<Bot>>(`admin/projects/${projectId}/bot`, {
    name,
    description: bots[name],
    runtimeVersion: config.botRuntime,
    accessPolicy: { reference: `AccessPolicy/${policyId}` },
  });
  return medplum.readResource('Bot', id);
}

async function updateSettings(plan: BotPlan, name: BotName, bot: WithId<Bot>): Promise<boolean> {
  const { cronString: _, ...rest } = bot;
  const desired = { ...rest, ...botSettings(name, plan.config) };
  if (hasContent(bot, desired)) {
    return false;
  }
  if (!plan.dryRun) {
    await plan.connection.medplum.updateResource(desired);
  }
  return true;
}

/** Medplum's command line tool deploys under the plain name of the file. Then the code itself must be compared. */
async function isDeployedByTool(
  { connection }: BotPlan,
  name: BotName,
  bot: WithId<Bot>,
  code: string,
): Promise<boolean> {
  const { title, url } = bot.executableCode ?? {};
  if (title !== `${name}.js` || !url) {
    return false;
  }
  try {
    return (await (await connection.medplum.download(url)).text()) === code;
  } catch {
    return false;
  }
}

async function deployCode(plan: BotPlan, name: BotName, bot: WithId<Bot>, code: string): Promise<boolean> {
  const { medplum } = plan.connection;
  const filename = codeTitle(name, code);
  if (bot.executableCode?.title === filename || (await isDeployedByTool(plan, name, bot, code))) {
    return false;
  }
  if (!plan.dryRun) {
    await medplum.post(medplum.fhirUrl('Bot', bot.id, '$deploy'), { code, filename });
  }
  return true;
}

async function deployBot(plan: BotPlan, name: BotName, code: string): Promise<string | undefined> {
  const { connection, policyId, report, dryRun } = plan;
  const found = await findBot(plan, name);
  if (!found && dryRun) {
    report.note('created', `Bot ${name}`);
    return undefined;
  }
  const bot = found ?? (await createBot(plan, name));
  const changes = [
    await updateSettings(plan, name, bot),
    await deployCode(plan, name, bot, code),
    await assignPolicy(connection, `Bot/${bot.id}`, policyId, { dryRun, isAdmin: isAdmin(name, plan.config) }),
  ];
  const change: Change = changes.includes(true) ? 'updated' : 'unchanged';
  report.note(found ? change : 'created', `Bot ${name}`);
  return bot.id;
}

/**
 * Creates and updates the Bots of the service. Code is deployed only if it differs.
 *
 * @returns the id of each Bot; in a dry run `undefined` for one that does not exist yet
 */
export async function deployBots(
  plan: BotPlan,
  code: Readonly<Record<BotName, string>>,
): Promise<Partial<Record<BotName, string>>> {
  const ids: Partial<Record<BotName, string>> = {};
  for (const name of Object.keys(bots) as BotName[]) {
    const id = await deployBot(plan, name, code[name]);
    if (id) {
      ids[name] = id;
    }
  }
  return ids;
}
