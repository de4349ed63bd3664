import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, Slot } from '@medplum/fhirtypes';
import { type Patients, patientIdsOf } from '../../../core/booking/appointment/change.ts';
import { unknownSurvivors } from '../../../core/booking/appointment/patient-change.ts';
import { slotIdsOf } from '../../../core/booking/appointment/slot-use.ts';
import { byId, type ResourceSet, resourcesOfType } from '../../../core/booking/resource-set.ts';
import { readState, searchByIds } from '../../../core/booking/search.ts';
import { fragmentReads, readFragments } from '../../../core/booking/slots/fragments.ts';
import { lostOffer, originsOf, type RelatedSlots } from '../../../core/booking/slots/synchronize.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { config } from '../config.ts';
import { sendBundle } from '../medplum.ts';

async function send(medplum: MedplumClient, entry: BundleEntry[]): Promise<Bundle> {
  if (entry.length === 0) {
    return { resourceType: 'Bundle', type: 'batch-response' };
  }
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  if (answer.kind !== 'done') {
    throw new Error(`The FHIR server could not be read (${answer.kind}).`);
  }
  return answer.bundle;
}

async function read(medplum: MedplumClient, entry: BundleEntry[]): Promise<ResourceSet> {
  const found = readState(await send(medplum, entry));
  if ('status' in found) {
    throw new Error(`The FHIR server could not be searched (status ${found.status}).`);
  }
  return found.state;
}

/**
 * The patients of an appointment who exist, and those into whom they were merged, with the Bot's own rights.
 *
 * @throws Error when the server could not be read
 */
export async function readPatients(medplum: MedplumClient, appointment: Appointment): Promise<Patients> {
  let wanted = patientIdsOf(appointment, config.baseUrl).map(({ id }) => id);
  let patients: Patients = new Map();
  while (wanted.length > 0) {
    const state = await read(medplum, searchByIds('Patient', wanted));
    const asked = new Set(wanted);
    patients = new Map([...patients, ...byId(resourcesOfType(state, 'Patient'))]);
    wanted = unknownSurvivors(patients).filter((id) => !asked.has(id));
  }
  return patients;
}

async function lostOf(medplum: MedplumClient, ids: readonly string[]): Promise<Slot[]> {
  const entry = ids.map((id): BundleEntry => ({ request: { method: 'GET', url: `Slot/${id}/_history` } }));
  const histories = await send(medplum, entry);
  return (histories.entry ?? []).flatMap(({ resource }) =>
    resource?.resourceType === 'Bundle' ? (lostOffer(resource) ?? []) : [],
  );
}

/**
 * Everything that the slots of an appointment depend on, with the Bot's own rights.
 *
 * @throws Error when the server could not be read
 */
export async function readRelatedSlots(medplum: MedplumClient, appointment: Appointment): Promise<RelatedSlots> {
  const ids = slotIdsOf(appointment);
  const own = resourcesOfType(await read(medplum, searchByIds('Slot', ids)), 'Slot');
  const lost = await lostOf(
    medplum,
    ids.filter((id) => !own.some((slot) => slot.id === id)),
  );
  const origins = originsOf([...own, ...lost], config);
  if (origins.length === 0) {
    return { fragments: { slots: [], uses: new Map() }, lost };
  }
  const bundle = await send(medplum, fragmentReads(origins, artefactUri(config, 'LocalSlotOrigin')).entry ?? []);
  const fragments = readFragments(bundle, [appointment.id]);
  if ('status' in fragments) {
    throw new Error(`The FHIR server could not be searched (status ${fragments.status}).`);
  }
  return { fragments, lost };
}
