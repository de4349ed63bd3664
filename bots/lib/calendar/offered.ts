import type { MedplumClient } from '@medplum/core';
import { ofType, readInBatch } from '../read.ts';

/**
 * The ids of those Slots that were once free, as their histories show, read with the Bot's own rights.
 *
 * @param ids - of Slots that carry no mark (`isUnmarked`)
 * @throws ReadError when the server could not be read
 */
export async function readOffered(medplum: MedplumClient, ids: readonly string[]): Promise<Set<string>> {
  const histories = await readInBatch(
    medplum,
    ids.map((id) => `Slot/${id}/_history`),
  );
  const wasFree = (index: number): boolean => ofType('Slot', histories[index]).some(({ status }) => status === 'free');
  return new Set(ids.filter((_, index) => wasFree(index)));
}
