import type { MedplumClient } from '@medplum/core';
import type { Patient } from '@medplum/fhirtypes';
import { replacedBy } from '../../../../core/booking/appointment/patient-change.ts';
import { belongsTo } from '../../../../core/fhir/tags.ts';
import type { Change } from '../../../../core/notifications/events/appointment-events.ts';
import type { FormerOf } from '../../../../core/notifications/subscription/filter.ts';
import { config } from '../../config.ts';
import { ofType, readInTransaction } from '../../read.ts';
import type { SubscriptionOutbox } from '../outbox-store.ts';

/** How many merges in a row are followed. */
const MAX_CHAIN = 8;

/** How many merged patients are followed at most. */
const MAX = 1000;

const isPatient = (reference: string | undefined): reference is string => reference?.startsWith('Patient/') ?? false;

/** Whether a Subscription asks for the appointments of certain patients. */
const asksForPatients = ({ settings }: SubscriptionOutbox): boolean =>
  settings?.conditions.some(({ values }) => values.some(isPatient)) ?? false;

/** The records of the patients that were merged into those of some changes. */
export type MergedPatients = readonly Patient[];

/**
 * Reads the patients that were merged into those of appointments, if a Subscription asks for certain patients: the
 * subscriber knows the patient that it submitted, but the appointment names the one that the clinic merged it into.
 *
 * @throws Error when the server does not answer
 */
export async function readMergedPatients(
  medplum: MedplumClient,
  outboxes: readonly SubscriptionOutbox[],
  changes: readonly Change[],
): Promise<MergedPatients> {
  const actors = changes.flatMap(({ current }) => current.participant.map(({ actor }) => actor?.reference));
  let asked = outboxes.some(asksForPatients) ? [...new Set(actors.filter(isPatient))] : [];
  const merged = new Map<string, Patient>();
  for (let merges = 0; asked.length > 0 && merges < MAX_CHAIN && merged.size < MAX; merges++) {
    const [found] = await readInTransaction(medplum, [`Patient?link=${asked.join(',')}&_count=${MAX}`]);
    const known = new Set(asked);
    const fresh = ofType('Patient', found).filter(
      (patient) => patient.id && !merged.has(patient.id) && known.has(`Patient/${replacedBy(patient)}`),
    );
    for (const one of fresh) {
      merged.set(one.id ?? '', one);
    }
    asked = fresh.map(({ id }) => `Patient/${id}`);
  }
  return [...merged.values()];
}

/** The merged patients whom a subscriber may know: its own, or all if it may read every appointment. */
export function formerPatients(merged: MergedPatients, { row }: SubscriptionOutbox): FormerOf {
  const { subscriber, readable } = row.outboxes;
  const mayKnow = (patient: Patient): boolean =>
    readable.includes('Appointment') || belongsTo(patient, subscriber, config);
  const before = (reference: string, depth: number): string[] =>
    depth >= MAX_CHAIN
      ? []
      : merged
          .filter((patient) => `Patient/${replacedBy(patient)}` === reference)
          .flatMap((patient) => [
            ...(mayKnow(patient) ? [`Patient/${patient.id}`] : []),
            ...before(`Patient/${patient.id}`, depth + 1),
          ]);
  return (reference) => (isPatient(reference) ? before(reference, 0) : []);
}
