import { createHash } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import { dueRemoval, type Removal } from '../../../core/person/erasure.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { post } from '../medplum.ts';
import { recordEvents } from '../notifications/events/event-writer.ts';
import { ofType, readAll, readHistories } from '../read.ts';
import { carryOut, writeRows } from '../rows.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Removes a resource with all its versions, which only an administrator may. */
async function expunge(medplum: MedplumClient, reference: string): Promise<void> {
  const response = await post(medplum, `fhir/R4/${reference}/$expunge`, {});
  if (typeof response === 'string' || response.status >= 300) {
    throw new Error(`${reference} could not be removed: ${typeof response === 'string' ? response : response.status}.`);
  }
}

/** Carries out a removal. After a crash the copy is found again by its identifier. */
async function remove(medplum: MedplumClient, { reference, replacement }: Removal): Promise<void> {
  if (replacement) {
    const [, id = ''] = reference.split('/');
    const { system, value } = replacement.identifier?.[0] ?? {};
    await recordEvents(medplum, [{ ...replacement, id }], 'concerned');
    const request = { method: 'POST' as const, url: 'Appointment', ifNoneExist: `identifier=${system}|${value}` };
    await writeRows(medplum, [{ request, resource: replacement }], reference);
  }
  await expunge(medplum, reference);
}

/**
 * Removes what an erasure has left to others and what is over by now, with all versions; of an appointment a copy without
 * the erased person stays. One that cannot be removed holds up no other.
 *
 * @param end - no removal starts after it; milliseconds since 1970 UTC
 */
export async function removeErased(medplum: MedplumClient, end: number): Promise<void> {
  const rows = ofType('Task', await readAll(medplum, [rowSearch(['erasure'], {}, config)]));
  const acts = rows.map((row) => async () => {
    const [history] = await readHistories(medplum, [`${row.focus?.reference}/_history?_count=1000`]);
    const entries = history?.entry ?? [];
    const versions = entries.flatMap(({ resource }) => resource ?? []);
    const isDeleted = entries.length > 0 && entries[0]?.resource === undefined;
    const removal = dueRemoval(row, { isDeleted, versions }, { config, hash });
    if (removal) {
      await remove(medplum, removal);
      await expunge(medplum, `Task/${row.id}`);
    }
  });
  await carryOut(acts, end);
}
