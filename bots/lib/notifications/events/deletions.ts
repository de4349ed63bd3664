import type { MedplumClient } from '@medplum/core';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { deletedId, deletionsOf, hasFailed, overdueDeletions } from '../../../../core/notifications/events/event.ts';
import { syncAppointment } from '../../booking/slot-sync.ts';
import { config } from '../../config.ts';
import { sendTransaction } from '../../medplum.ts';
import { ofType, readHistories, readInTransaction, readPages } from '../../read.ts';
import { carryOut } from '../../rows.ts';
import { recordEvents } from './event-writer.ts';

/** Deletes the Tasks of processed deletions. If that fails, they are processed once more, without effect. */
async function removeTasks(medplum: MedplumClient, tasks: readonly Task[]): Promise<void> {
  if (tasks.length > 0) {
    const request = tasks.map(({ id }) => ({ request: { method: 'DELETE' as const, url: `Task/${id}` } }));
    await sendTransaction(medplum, request);
  }
}

/** An appointment that was changed, or `deletedResource` with it, as a Subscription delivers it. */
export type Changed = Appointment | { readonly deletedResource: Appointment };

/**
 * Writes the events of an appointment that was changed or deleted, for all subscribers that must know of it.
 * @throws Error when it could not be done; the Bot retry-deliveries catches up
 */
export async function recordChange(medplum: MedplumClient, changed: Changed): Promise<void> {
  const isDeletion = 'deletedResource' in changed;
  const appointment = isDeletion ? changed.deletedResource : changed;
  const isComplete = await recordEvents(medplum, [appointment], isDeletion ? 'all' : 'concerned');
  if (appointment.id && isDeletion && isComplete) {
    const [tasks] = await readInTransaction(medplum, [deletionsOf(appointment.id, config)]);
    await removeTasks(medplum, ofType('Task', tasks));
  }
}

async function lastVersion(medplum: MedplumClient, id: string): Promise<Appointment | undefined> {
  const [history] = await readHistories(medplum, [`Appointment/${id}/_history?_count=2`]);
  return ofType(
    'Appointment',
    history?.entry?.flatMap(({ resource }) => resource ?? []),
  )[0];
}

/** Frees the slots of a deleted appointment and records its events. If it still exists, only an old Task is deleted. */
async function followDeletion(medplum: MedplumClient, task: Task, end: number): Promise<void> {
  const id = deletedId(task);
  const [existing = []] = await readInTransaction(medplum, [`Appointment?_id=${id}&_fields=id`]);
  const deleted = existing.length === 0 ? await lastVersion(medplum, id) : undefined;
  let isComplete = true;
  if (deleted) {
    await syncAppointment(medplum, deleted);
    isComplete = await recordEvents(medplum, [deleted], 'all', () => Date.now() < end);
  }
  if (existing.length === 0 ? isComplete : hasFailed(task, Date.now())) {
    await removeTasks(medplum, [task]);
  }
}

const PAGE = 100;

/**
 * Catches up on deletions whose jobs were lost: frees the slots, and records the events.
 * @param end - after this moment nothing further is begun
 */
export async function followDeletions(medplum: MedplumClient, end: number): Promise<void> {
  async function* acts() {
    for await (const pages of readPages(medplum, [overdueDeletions(Date.now(), config)], { count: PAGE, end })) {
      yield* ofType('Task', pages.flat()).map((task) => () => followDeletion(medplum, task, end));
    }
  }
  await carryOut(acts(), end);
}
