import type { MedplumClient, WithId } from '@medplum/core';
import type { Resource, ResourceType } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { mapConcurrently } from '../bots/lib/concurrency.ts';
import {
  emptiedSlotsQuery,
  endedJobsQuery,
  idleQuotasQuery,
  isAbsorbed,
  isLeftPublished,
  type Leftover,
  leftovers,
  pastSlotsQuery,
} from '../core/booking/jobs/retention.ts';
import type { BookingConfig } from '../core/config/config.ts';
import { type CredentialArguments, open, withCredentials } from './cli/credentials.ts';
import { formatTable } from './cli/table.ts';
import { wholeNumber } from './cli/whole-number.ts';
import { expunge } from './medplum/project.ts';

const DAY = 24 * 60 * 60_000;

/** The number of resources in one page, all of which may be removed before the next page is read. */
const PAGE = 100;

const CONCURRENCY = 4;

interface Clearing {
  readonly medplum: MedplumClient;
  readonly config: BookingConfig;
  /** Resources last changed before this time, in milliseconds since 1970 UTC, are removed. */
  readonly cutoff: number;
  readonly dryRun: boolean;
  readonly onProgress: (kind: Leftover, count: number) => void;
}

const noStore = { cache: 'no-store' } as const;

/** Each page starts at the time of the last resource of the one before, so that removals do not shift the pages. */
const pagesOf = <T extends ResourceType>({ medplum }: Clearing, type: T, query: Readonly<Record<string, string>>) =>
  medplum.searchResourcePages(type, { ...query, _sort: '_lastUpdated', _count: String(PAGE) }, noStore);

async function remove(
  { medplum, dryRun, onProgress }: Clearing,
  kind: Leftover,
  all: readonly WithId<Resource>[],
): Promise<void> {
  if (!dryRun) {
    await mapConcurrently(all, CONCURRENCY, ({ resourceType, id }) => expunge(medplum, resourceType, id));
  }
  onProgress(kind, all.length);
}

async function clearTasks(clearing: Clearing, kind: Leftover, query: Readonly<Record<string, string>>): Promise<void> {
  for await (const page of pagesOf(clearing, 'Task', query)) {
    await remove(clearing, kind, page);
  }
}

async function slotsOfAppointments(clearing: Clearing, slots: readonly WithId<Resource>[]): Promise<Set<string>> {
  const referred = new Set<string>();
  const query = { slot: slots.map(({ id }) => `Slot/${id}`).join(',') };
  for await (const page of pagesOf(clearing, 'Appointment', query)) {
    for (const { slot = [] } of page) {
      for (const { reference } of slot) {
        referred.add(reference ?? '');
      }
    }
  }
  return referred;
}

async function clearSlots(
  clearing: Clearing,
  kind: Leftover,
  query: Readonly<Record<string, string>>,
  isLeft: typeof isAbsorbed,
): Promise<void> {
  const { cutoff, config } = clearing;
  for await (const page of pagesOf(clearing, 'Slot', query)) {
    const referred = page.length > 0 ? await slotsOfAppointments(clearing, page) : new Set<string>();
    await remove(
      clearing,
      kind,
      page.filter((slot) => isLeft(slot, referred, cutoff, config)),
    );
  }
}

/**
 * Removes data of the service that is no longer needed, with all versions, page by page. It may run at any time,
 * together with bookings and other runs. After an interruption, the next run continues.
 *
 * @throws Error when Medplum does not respond or refuses
 */
export async function clear(clearing: Clearing): Promise<void> {
  await clearTasks(clearing, 'jobs', endedJobsQuery(clearing.cutoff, clearing.config));
  await clearTasks(clearing, 'quotas', idleQuotasQuery(clearing.cutoff, clearing.config));
  await clearSlots(clearing, 'slots', emptiedSlotsQuery(clearing.cutoff), isAbsorbed);
  await clearSlots(clearing, 'published', pastSlotsQuery(clearing.cutoff), isLeftPublished);
}

interface RetentionArguments extends CredentialArguments {
  readonly olderThan: number;
  readonly dryRun?: boolean;
}

const kinds = Object.keys(leftovers) as Leftover[];

const explanation = `
What is cleared, with all versions:
${kinds.map((kind) => `  ${kind.padEnd(10)}${leftovers[kind]}`).join('\n')}

Appointments, patients, answers and what staff have entered are never touched. Old events of Subscriptions are removed by
a Bot (notifications.keepEventsDays). You can run this command at any time, and stop it: the next run continues. For
every run of a Bot Medplum itself keeps a file on the server, which this does not remove: see docs/operators.md, "Old data".`;

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Removes old jobs and slot fragments of the service from Medplum.')
    .option('--older-than <days>', 'remove only what has not changed for this many days', wholeNumber(1, 3650), 30)
    .option('--dry-run', 'count what would be removed, remove nothing')
    .addHelpText('after', explanation)
    .action(main);
}

async function main(given: RetentionArguments): Promise<void> {
  const { dryRun = false, olderThan } = given;
  const { medplum, projectId, config } = await open(given);
  const counts: Record<Leftover, number> = { jobs: 0, quotas: 0, slots: 0, published: 0 };
  await clear({
    medplum,
    config,
    cutoff: Date.now() - olderThan * DAY,
    dryRun,
    onProgress: (kind, count) => {
      counts[kind] += count;
      if (count > 0) {
        console.error(`${kind}: ${counts[kind]}`);
      }
    },
  });
  console.log(
    formatTable(
      [dryRun ? 'to clear' : 'cleared', 'what'],
      kinds.map((kind) => [String(counts[kind]), leftovers[kind]]),
    ),
  );
  console.log(`\nNot removed: the inputs of Bots, files bot/${projectId}/… of the server's binary storage.`);
}
