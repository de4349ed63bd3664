import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bot, Task } from '@medplum/fhirtypes';
import { isReminderDue, openTasks, reminderEntries } from '../../core/booking/jobs/confirmation-task.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { absenceActs } from '../lib/absence/absence.ts';
import { syncAppointment } from '../lib/booking/slot-sync.ts';
import { config } from '../lib/config.ts';
import { ofType, readPages } from '../lib/read.ts';
import { carryOut, RUN_LIMIT, writeRows } from '../lib/rows.ts';

/**
 * Ends a request whose deadline is over, or its Task if the request has ended otherwise.
 * @throws Error when the Task has no appointment as its focus
 */
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
 * Runs every minute. Cancels requests whose deadline is over, the earliest first, and reminds staff of those whose
 * deadline is near. A request that is over counts as ended already; here its status is stored and its portal notified.
 * Then it carries out confirmed absences.
 * @throws Error when Medplum does not answer, or something could not be written; the next run tries again
 */
export async function handler(medplum: MedplumClient, { secrets = {} }: Partial<BotEvent<Bot>> = {}): Promise<void> {
  const now = Date.now();
  const end = now + RUN_LIMIT;
  const isOver = ({ restriction }: Task): boolean => Date.parse(restriction?.period?.end ?? '') <= now;
  async function* acts() {
    for await (const pages of readPages(medplum, [openTasks({}, config)], { order: 'due-date', end })) {
      for (const task of ofType('Task', pages.flat())) {
        if (isOver(task)) {
          yield () => endRequest(medplum, task);
        } else if (isReminderDue(task, now)) {
          // If another write was faster, the next run reads the Task again.
          yield () => writeRows(medplum, reminderEntries(task, Date.now()), `The reminder of Task/${task.id}`);
        }
      }
    }
    yield* absenceActs(medplum, secrets, end);
  }
  await carryOut(acts(), end);
}
