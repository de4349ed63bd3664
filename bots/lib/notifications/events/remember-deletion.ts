import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import { deletionTask } from '../../../../core/notifications/events/deletion.ts';
import { creation } from '../../../../core/rows/row.ts';
import { config } from '../../config.ts';
import { retryOvertaken } from '../../medplum.ts';
import { writeRows } from '../../rows.ts';

/**
 * Remembers that an appointment is about to be deleted.
 *
 * @param more - the entries that are written with it
 * @throws Error when it could not be written: then the appointment must not be deleted
 */
export async function rememberDeletion(
  medplum: MedplumClient,
  { id = '' }: Appointment,
  more: () => Promise<BundleEntry[]> = async () => [],
): Promise<void> {
  const what = `The deletion of Appointment/${id}`;
  const write = async () => writeRows(medplum, [creation(deletionTask(id, config)), ...(await more())], what);
  if (!(await retryOvertaken(write, (row) => row === undefined))) {
    throw new Error(`${what} was overtaken: delete it again.`);
  }
}
