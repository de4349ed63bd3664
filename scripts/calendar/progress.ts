import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { publicationIn, sweepIn } from '../../core/calendar/publish/publication.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { searchAll } from '../medplum/project.ts';

/** How far the publication of some schedules has come. */
export interface Progress {
  readonly schedules: number;
  readonly done: number;
  /** Ids of the schedules that cannot be published. */
  readonly failed: readonly string[];
}

/** What is waited for. */
export interface Awaited {
  /** Ids of the schedules. */
  readonly schedules: readonly string[];
  /** When they were changed, in milliseconds since 1970 UTC. */
  readonly since: number;
  /**
   * What shows that the change has been taken up: the schedules' own Tasks (`schedule`), or a look that has seen all
   * schedules since then (`sweep`: after a change to a service or to closed days, or a request to publish).
   */
  readonly by: 'schedule' | 'sweep';
}

const POLL = 1_000;

/** A minute of Medplum's clock, and some seconds: no publication begins later. */
const PATIENCE = 90_000;

const isOver = ({ status }: Task): boolean => ['completed', 'failed', 'cancelled'].includes(status);

async function readTasks(medplum: MedplumClient, config: BookingConfig): Promise<Map<string, Task>> {
  const tasks = await searchAll(medplum, 'Task', { code: rowCodes(['publish'], config) });
  return new Map(tasks.map((task) => [publicationIn(task)?.schedule ?? '', task]));
}

async function hasBegun(
  medplum: MedplumClient,
  tasks: ReadonlyMap<string, Task>,
  { schedules, since, by }: Awaited,
  config: BookingConfig,
): Promise<boolean> {
  if (by === 'schedule') {
    return schedules.every((id) => Date.parse(tasks.get(id)?.meta?.lastUpdated ?? '') >= since);
  }
  const [task] = await searchAll(medplum, 'Task', { code: rowCodes(['publish-all'], config) });
  const sweep = task && sweepIn(task);
  return sweep !== undefined && sweep.began >= since && sweep.offset === undefined;
}

/**
 * Waits until a change is published.
 *
 * @param onProgress - called whenever more of it is published
 * @throws Error when publication does not begin
 */
export async function untilPublished(
  medplum: MedplumClient,
  awaited: Awaited,
  config: BookingConfig,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const began = Date.now();
  for (let last = ''; ; await wait(POLL)) {
    const tasks = await readTasks(medplum, config);
    const isFollowed = await hasBegun(medplum, tasks, awaited, config);
    if (!isFollowed && Date.now() - began > PATIENCE) {
      throw new Error(
        'The change is stored, but nothing publishes it. Check with: npm run doctor (cron, Subscriptions, the Bot publish-slots).',
      );
    }
    const known = awaited.schedules.flatMap((id) => tasks.get(id) ?? []);
    const over = known.filter(isOver);
    const failed = over.flatMap((task) => (task.status === 'failed' ? (publicationIn(task)?.schedule ?? []) : []));
    const progress = { schedules: known.length, done: isFollowed ? over.length : 0, failed };
    if (JSON.stringify(progress) !== last) {
      onProgress(progress);
      last = JSON.stringify(progress);
    }
    if (isFollowed && over.length === known.length) {
      return progress;
    }
  }
}
