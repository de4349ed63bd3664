import type { MedplumClient } from '@medplum/core';
import { artefactUri } from '../../../core/config/config.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { isUnclear, markedSlots, originsOf } from '../../../core/slots/upgrade.ts';
import { config } from '../config.ts';
import { retryOvertaken, sendTransaction } from '../medplum.ts';
import { ofType, ReadError, readInBatch } from '../read.ts';

const ATTEMPTS = { most: 20, within: 5_000 } as const;

async function markOnce(medplum: MedplumClient, ids: readonly string[]) {
  const [found] = await readInBatch(medplum, [`Slot?_id=${ids.join(',')}&_count=1000`]);
  const slots = ofType('Slot', found);
  const origins = originsOf(slots, config);
  const system = artefactUri(config, 'LocalSlotOrigin');
  const related =
    origins.length > 0
      ? await readInBatch(medplum, [
          `Slot?_id=${origins.join(',')}&_count=1000`,
          `Slot?identifier=${origins.map((id) => encodeURIComponent(`${system}|${id}`)).join(',')}&_count=1000`,
        ])
      : [];
  const all = [...slots, ...ofType('Slot', related.flat())];
  const unclear = [...new Set(all.filter((slot) => isUnclear(slot, config)).flatMap(({ id }) => id ?? []))];
  const histories = await readInBatch(
    medplum,
    unclear.map((id) => `Slot/${id}/_history`),
  );
  const offered = unclear.filter((_, index) =>
    ofType('Slot', histories[index]).some(({ status }) => status === 'free'),
  );
  const marked = markedSlots(all, new Set(offered), Date.now(), config);
  const entry = marked.map(({ stored, resource }) => updateEntry(stored, resource));
  const answer = entry.length > 0 ? await sendTransaction(medplum, entry) : undefined;
  return { kind: answer?.kind ?? 'done', written: entry.length };
}

/**
 * Gives Slots that the version before wrote the marks that say what they are (`markedSlots`).
 *
 * @param ids - of the Slots
 * @returns how many were written; those that are marked are left alone
 * @throws Error when the server does not answer, or requests keep overtaking it: nothing is lost, it can be called again
 */
export async function markSlots(medplum: MedplumClient, ids: readonly string[]): Promise<number> {
  const { kind, written } = await retryOvertaken(
    () => markOnce(medplum, ids),
    (one) => one.kind === 'overtaken',
    ATTEMPTS,
  );
  if (kind !== 'done') {
    throw new ReadError(`The Slots could not be marked (${kind}).`);
  }
  return written;
}
