import type { WithId } from '@medplum/core';
import type { Bot, OperationDefinition, Subscription } from '@medplum/fhirtypes';
import { bots } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { internalSubscriptions } from '../../profiles/subscriptions.ts';
import type { Connection } from '../medplum/connect.ts';
import { searchAll } from '../medplum/project.ts';
import type { Report } from '../medplum/report.ts';

interface Removal {
  readonly subscriptions: readonly WithId<Subscription>[];
  readonly operations: readonly WithId<OperationDefinition>[];
  readonly bots: readonly WithId<Bot>[];
}

const nameIn = (bot: Bot, system: string): string | undefined =>
  bot.identifier?.find((identifier) => identifier.system === system)?.value;

const tagIn = ({ meta }: Subscription, system: string): string | undefined =>
  meta?.tag?.find((tag) => tag.system === system)?.code;

const ownBots = ({ medplum }: Connection, system: string): Promise<WithId<Bot>[]> =>
  searchAll(medplum, 'Bot', {}, (bot) => nameIn(bot, system) !== undefined);

/** The Subscriptions that start Bots. Subscriptions of subscribers may have any tag, but another endpoint. */
const ownSubscriptions = ({ medplum }: Connection, system: string): Promise<WithId<Subscription>[]> =>
  searchAll(
    medplum,
    'Subscription',
    { type: 'rest-hook' },
    (subscription) =>
      tagIn(subscription, system) !== undefined && subscription.channel.endpoint?.startsWith('Bot/') === true,
  );

/** The Bots and Subscriptions of another version of the service that this version does not have. */
export async function findObsolete(connection: Connection, config: BookingConfig): Promise<Removal> {
  const system = artefactUri(config, 'LocalBot');
  const names = new Set(internalSubscriptions(config).map(({ name }): string => name));
  const [subscriptions, deployed] = [await ownSubscriptions(connection, system), await ownBots(connection, system)];
  return {
    subscriptions: subscriptions.filter((subscription) => !names.has(tagIn(subscription, system) ?? '')),
    operations: [],
    bots: deployed.filter((bot) => !Object.hasOwn(bots, nameIn(bot, system) ?? '')),
  };
}

/** The active parts of the service: its Bots, the Subscriptions that start them, and the operations. */
export async function findDeployed(
  connection: Connection,
  config: BookingConfig,
  operationUrls: readonly string[],
): Promise<Removal> {
  const system = artefactUri(config, 'LocalBot');
  return {
    subscriptions: await ownSubscriptions(connection, system),
    operations: await connection.medplum.searchResources('OperationDefinition', { url: operationUrls.join(',') }),
    bots: await ownBots(connection, system),
  };
}

/**
 * Deletes a Bot. An interruption leaves no scheduled run: Medplum stops a scheduled Bot when it loses its schedule, not
 * when it is deleted. The profile of a membership is deleted after the membership.
 */
async function removeBot({ medplum }: Connection, bot: WithId<Bot>): Promise<void> {
  const { cronString, cronTiming, ...unscheduled } = bot;
  if (cronString || cronTiming) {
    await medplum.updateResource(unscheduled);
  }
  for (const { id } of await medplum.searchResources('ProjectMembership', { profile: `Bot/${bot.id}` })) {
    await medplum.deleteResource('ProjectMembership', id);
  }
  await medplum.deleteResource('Bot', bot.id);
}

/**
 * Removes Subscriptions and operations, then the Bots. After an interruption, a second run finds the rest, because a
 * Bot keeps its identifier to the end.
 */
export async function remove(
  connection: Connection,
  { subscriptions, operations, bots: old }: Removal,
  config: BookingConfig,
  report: Report,
  dryRun = false,
): Promise<void> {
  const { medplum } = connection;
  const system = artefactUri(config, 'LocalBot');
  const step = async (subject: string, act: () => Promise<unknown>): Promise<void> => {
    if (!dryRun) {
      await act();
    }
    report.note('removed', subject);
  };
  for (const subscription of subscriptions) {
    await step(`Subscription ${tagIn(subscription, system)}`, () =>
      medplum.deleteResource('Subscription', subscription.id),
    );
  }
  for (const { id, url } of operations) {
    await step(`OperationDefinition ${url}`, () => medplum.deleteResource('OperationDefinition', id));
  }
  for (const bot of old) {
    await step(`Bot ${nameIn(bot, system)}`, () => removeBot(connection, bot));
  }
}
