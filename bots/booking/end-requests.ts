import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { isReminderDue, openTasksQuery, reminderEntries } from '../../core/booking/confirmation/task.ts';
import { type SearchQuery, searchUrl } from '../../core/booking/search.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { idIn } from '../../core/fhir/reference/reference.ts';
import { syncAppointment } from '../lib/booking/slot-sync.ts';
import { config } from '../lib/config.ts';
import { sendTransaction } from '../lib/medplum.ts';
import { ofType, readInBatch } from '../lib/read.ts';
import { RUN_LIMIT } from '../lib/run-limit.ts';

/** How many Tasks are read at once. */
const PAGE = 50;

/** One page of the Tasks that are not over, the earliest deadline first. */
async function readPage(medplum: MedplumClient, more: SearchQuery, offset: number): Promise<Task[]> {
  const page: SearchQuery = [
    ['_sort', 'due-date,_id'],
    ['_count', String(PAGE)],
    ['_offset', String(offset)],
  ];
  const [found] = await readInBatch(medplum, [searchUrl('Task', openTasksQuery([...more, ...page], config))]);
  return ofType('Task', found);
}

/**
 * Does something about each of some Tasks, page by page, until all are done or the time is over.
 *
 * @param act - says whether the search may no longer find the Task
 */
async function forEachTask(
  medplum: MedplumClient,
  more: SearchQuery,
  end: number,
  act: (task: Task) => Promise<boolean>,
): Promise<void> {
  const seen = new Set<string | undefined>();
  let left = 0;
  for (let isLast = false; !isLast && Date.now() < end; ) {
    const tasks = await readPage(medplum, more, left);
    for (const task of tasks) {
      if (Date.now() >= end) {
        return;
      }
      left += !seen.has(task.id) && (await act(task)) ? 0 : 1;
      seen.add(task.id);
    }
    isLast = tasks.length < PAGE;
  }
}

async function remind(medplum: MedplumClient, task: Task): Promise<void> {
  const sent = await sendTransaction(medplum, reminderEntries(task, Date.now(), config));
  // Whoever was faster has changed the Task: the next run looks at it again.
  if (sent.kind !== 'done' && sent.kind !== 'overtaken') {
    throw new Error(`The reminder of Task/${task.id} could not be written (${sent.kind}).`);
  }
}

/** Ends a request whose deadline is over, or its Task if the request has ended otherwise. */
async function endRequest(medplum: MedplumClient, { id, focus }: Task): Promise<void> {
  const appointment = idIn(focus, 'Appointment');
  if (!appointment) {
    throw new Error(`Task/${id} names no appointment in its focus: correct or delete it.`);
  }
  await syncAppointment(medplum, {
    resourceType: 'Appointment',
    id: appointment,
    status: 'cancelled',
    participant: [],
  });
}

/**
 * Runs every minute. Cancels requests whose deadline is over, the earliest first, and reminds staff of those whose deadline
 * is near. A request that is over counts as ended already; here it is tidied up and its portal told.
 *
 * @throws Error when Medplum does not answer, or something could not be written; the next run tries again
 */
export async function handler(medplum: MedplumClient): Promise<void> {
  const now = Date.now();
  const end = now + RUN_LIMIT;
  const failures: string[] = [];
  const isDone = (action: Promise<void>): Promise<boolean> =>
    action.then(
      () => true,
      (error: unknown) => failures.push(String(error)) === 0,
    );
  await forEachTask(medplum, [['due-date', `le${formatInstant(now)}`]], end, (task) =>
    isDone(endRequest(medplum, task)),
  );
  await forEachTask(medplum, [['priority', 'routine']], end, async (task) =>
    isReminderDue(task, Date.now(), config) ? isDone(remind(medplum, task)) : false,
  );
  if (failures.length > 0) {
    throw new Error(failures.join('\n'));
  }
}
