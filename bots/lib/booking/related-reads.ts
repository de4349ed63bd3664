import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, Resource, Slot, Task } from '@medplum/fhirtypes';
import { type Patients, patientIdsOf } from '../../../core/booking/appointment/change.ts';
import { unknownSurvivors } from '../../../core/booking/appointment/patient-change.ts';
import { isHeld, slotIdsOf } from '../../../core/booking/appointment/slot-use.ts';
import { holdsSlots } from '../../../core/booking/appointment/status.ts';
import { tasksOfQuery } from '../../../core/booking/confirmation/task.ts';
import { byId, findResource } from '../../../core/booking/resource-set.ts';
import { readState, searchUrl } from '../../../core/booking/search.ts';
import { fragmentReads, readFragments } from '../../../core/booking/slots/fragments.ts';
import {
  isByHand,
  lostOffer,
  originsOf,
  type RelatedSlots,
  setByHand,
} from '../../../core/booking/slots/synchronize.ts';
import { isUnmarked } from '../../../core/calendar/slots/slot-role.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { readOffered } from '../calendar/offered.ts';
import { config } from '../config.ts';
import { sendBundle } from '../medplum.ts';
import { ofType, ReadError, readHistories, readInBatch } from '../read.ts';

/** The slots and patients of an appointment, as far as they exist. */
export interface Related {
  readonly slots: readonly Slot[];
  readonly patients: Patients;
}

/** An appointment with its slots and patients, as they were read together. */
export interface RelatedAppointment extends Related {
  /** Absent if it was deleted. */
  readonly appointment: Appointment | undefined;
  /** Its open Tasks, such as the one of a request that waits for the clinic. */
  readonly tasks: readonly Task[];
  /** The Schedules of its slots with their actors, if they were asked for. */
  readonly calendars: readonly Resource[];
}

const MOST = '_count=1000';

const WITH_CALENDARS = '&_include=Slot:schedule&_include:iterate=Schedule:actor';

const idSearch = (type: 'Patient' | 'Slot', ids: readonly string[]): string => `${type}?_id=${ids.join(',')}&${MOST}`;

/**
 * Reads an appointment with its slots, patients and Tasks in one batch, with the Bot's own rights.
 *
 * @param id - of the appointment, as the caller sent it
 * @param withCalendars - whether the Schedules of its slots are needed, too
 * @throws ReadError when the server could not be read
 */
export async function readRelatedAppointment(
  medplum: MedplumClient,
  id: string,
  { withCalendars = false } = {},
): Promise<RelatedAppointment> {
  const one = encodeURIComponent(id);
  const [appointments, slots, patients, tasks] = await readInBatch(medplum, [
    `Appointment?_id=${one}`,
    `Slot?_has:Appointment:slot:_id=${one}&${MOST}${withCalendars ? WITH_CALENDARS : ''}`,
    `Patient?_has:Appointment:patient:_id=${one}&${MOST}`,
    searchUrl('Task', tasksOfQuery([id], config)),
  ]);
  return {
    appointment: ofType('Appointment', appointments)[0],
    slots: ofType('Slot', slots),
    patients: byId(ofType('Patient', patients)),
    tasks: ofType('Task', tasks),
    calendars: (slots ?? []).filter(({ resourceType }) => resourceType !== 'Slot'),
  };
}

/**
 * What an appointment names and `known` lacks, read by id, with the Bot's own rights: slots and patients of another
 * version, those that a search does not follow (absolute references), and, without result, those that were deleted.
 *
 * @throws ReadError when the server could not be read
 */
export async function completeRelated(
  medplum: MedplumClient,
  appointment: Appointment,
  known: Related,
): Promise<Related> {
  const slotIds = slotIdsOf(appointment).filter((id) => !known.slots.some((slot) => slot.id === id));
  const patientIds = patientIdsOf(appointment, config.baseUrl).flatMap(({ id }) =>
    known.patients.has(id) ? [] : [id],
  );
  const found = (
    await readInBatch(medplum, [
      ...(slotIds.length > 0 ? [idSearch('Slot', slotIds)] : []),
      ...(patientIds.length > 0 ? [idSearch('Patient', patientIds)] : []),
    ])
  ).flat();
  return {
    slots: [...known.slots, ...ofType('Slot', found)],
    patients: new Map([...known.patients, ...byId(ofType('Patient', found))]),
  };
}

/**
 * Adds the patients into whom those of an appointment were merged.
 *
 * @throws ReadError when the server could not be read
 */
export async function readSurvivors(medplum: MedplumClient, known: Patients): Promise<Patients> {
  let patients = known;
  const asked = new Set(known.keys());
  for (;;) {
    const unknown = unknownSurvivors(patients).filter((id) => !asked.has(id));
    if (unknown.length === 0) {
      return patients;
    }
    const [found] = await readInBatch(medplum, [idSearch('Patient', unknown)]);
    patients = new Map([...patients, ...byId(ofType('Patient', found))]);
    for (const id of unknown) {
      asked.add(id);
    }
  }
}

/**
 * An appointment as it is stored, and the existing patients that its changed version names, in one batch.
 *
 * @throws ReadError when the server could not be read
 */
export async function readForChange(
  medplum: MedplumClient,
  changed: Appointment,
): Promise<{ readonly stored: Appointment | undefined; readonly patients: Patients }> {
  const ids = patientIdsOf(changed, config.baseUrl).map(({ id }) => id);
  const [appointments, patients] = await readInBatch(medplum, [
    `Appointment?_id=${encodeURIComponent(changed.id ?? '')}`,
    ...(ids.length > 0 ? [idSearch('Patient', ids)] : []),
  ]);
  return { stored: ofType('Appointment', appointments)[0], patients: byId(ofType('Patient', patients)) };
}

async function sendReads(medplum: MedplumClient, bundle: Bundle): Promise<Bundle> {
  const answer = await sendBundle(medplum, bundle, { withAuthors: true });
  if (answer.kind !== 'done') {
    throw new ReadError(`The FHIR server could not be read (${answer.kind}).`);
  }
  return answer.bundle;
}

/** The last versions of deleted slots, as `lostOffer` gives them; a slot that never existed has no history. */
async function lostOf(medplum: MedplumClient, ids: readonly string[]): Promise<Slot[]> {
  if (ids.length === 0) {
    return [];
  }
  const entry = ids.map((id): BundleEntry => ({ request: { method: 'GET', url: `Slot/${id}/_history` } }));
  const histories = await sendReads(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  return (histories.entry ?? []).flatMap(({ resource }) =>
    resource?.resourceType === 'Bundle' ? (lostOffer(resource) ?? []) : [],
  );
}

/**
 * What histories say about the slots that an appointment gives back, read only where the slots themselves do not say it.
 */
async function readMarks(medplum: MedplumClient, { id }: Appointment, slots: readonly Slot[]) {
  const unmarked = slots.filter((slot) => isUnmarked(slot, config)).flatMap((slot) => slot.id ?? []);
  const byHand = slots.filter((slot) => isByHand(slot, config));
  const [offered, histories] = await Promise.all([
    readOffered(medplum, unmarked),
    byHand.length > 0 ? readHistories(medplum, [`Appointment/${id}/_history`]) : [],
  ]);
  return {
    neverOffered: new Set(unmarked.filter((one) => !offered.has(one))),
    setByHand: new Set(histories.flatMap((history) => [...setByHand(byHand, history, config)])),
  };
}

/** What was read of the slots of an appointment. */
export interface RelatedSlotsRead extends RelatedSlots {
  /** The appointment as it was once the slots had been read; absent if it names none of them by then. */
  readonly latest: Appointment | undefined;
}

/** The appointment in the answer to `fragmentReads`, which reads appointments after slots. */
function latestIn(answer: Bundle, id: string | undefined): Appointment | undefined {
  const read = readState(answer);
  return 'state' in read && id !== undefined ? findResource(read.state, 'Appointment', id) : undefined;
}

/**
 * Everything that the slots of an appointment depend on, with the Bot's own rights.
 *
 * @param own - those of its slots that exist (`completeRelated`)
 * @throws ReadError when the server could not be read
 */
export async function readRelatedSlots(
  medplum: MedplumClient,
  appointment: Appointment,
  own: readonly Slot[],
): Promise<RelatedSlotsRead> {
  const ids = slotIdsOf(appointment);
  const used = own.filter(({ id }) => id !== undefined && ids.includes(id));
  const lost = await lostOf(
    medplum,
    ids.filter((id) => !used.some((slot) => slot.id === id)),
  );
  const origins = originsOf([...used, ...lost], config);
  if (origins.length === 0) {
    return { fragments: { slots: [], uses: new Map() }, lost, latest: undefined };
  }
  const bundle = await sendReads(medplum, fragmentReads(origins, artefactUri(config, 'LocalSlotOrigin')));
  const fragments = readFragments(bundle, [appointment.id]);
  if ('status' in fragments) {
    throw new ReadError(`The FHIR server could not be searched (status ${fragments.status}).`);
  }
  // What is written is what was read last: staff may have taken a slot between the two reads.
  const written = used.map((slot) => fragments.slots.find(({ id }) => id === slot.id) ?? slot);
  const released = holdsSlots(appointment) ? [] : written.filter(({ id }) => !isHeld(fragments.uses.get(id ?? '')));
  return {
    fragments,
    lost,
    latest: latestIn(bundle, appointment.id),
    ...(await readMarks(medplum, appointment, released)),
  };
}
