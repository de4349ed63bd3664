import type { MedplumClient } from '@medplum/core';
import type { Encounter } from '@medplum/fhirtypes';
import { appointmentsOf, withOwners } from '../../../core/booking/appointment/encounter-owner.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { config } from '../config.ts';
import { type BundleResponse, sendTransaction, writeInTheEnd } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';

/** Reads, decides and writes once; `unchanged` if the encounter is missing or has the right tags. */
async function tagOnce(medplum: MedplumClient, id: string): Promise<BundleResponse['kind'] | 'unchanged'> {
  const [found] = await readInBatch(medplum, [`Encounter?_id=${id}`]);
  const [encounter]: Encounter[] = ofType('Encounter', found);
  if (!encounter) {
    return 'unchanged';
  }
  const ids = appointmentsOf(encounter, config).map((reference) => reference.replace('Appointment/', ''));
  const [named] =
    ids.length > 0 ? await readInBatch(medplum, [`Appointment?_id=${ids.join(',')}&_count=${ids.length}`]) : [];
  const shared = withOwners(encounter, ofType('Appointment', named), config);
  return shared === encounter ? 'unchanged' : (await sendTransaction(medplum, [updateEntry(encounter, shared)])).kind;
}

/**
 * Tags an encounter with the requestors that may see it. The result depends only on stored resources: repeating a run
 * is safe.
 * @throws Error when the server could not be reached, refuses the result, or conflicts with other requests persist
 */
export async function shareEncounter(medplum: MedplumClient, id: string): Promise<void> {
  await writeInTheEnd(() => tagOnce(medplum, id), `The tags of Encounter/${id}`);
}
