import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Task } from '@medplum/fhirtypes';
import type { Patients } from '../../../core/booking/appointment/change.ts';
import { isPersonalOffer } from '../../../core/booking/appointment/expiry.ts';
import { usesOf } from '../../../core/booking/appointment/reads.ts';
import { type RelatedSlots, slotEntriesOf } from '../../../core/booking/appointment/synchronize.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { resourceSet } from '../../../core/rows/resource-set.ts';
import { searchUrl } from '../../../core/rows/search.ts';
import {
  hasBegun,
  isByItself,
  notifiedGroupOf,
  otherAppointmentsOf,
  stepOf,
  visitGroupOf,
} from '../../../core/visits/visit.ts';
import { releaseRows } from '../../../core/waitlist/release.ts';
import type { AppointmentSlots } from '../booking/appointment-slots.ts';
import { completeRelated, type RelatedAppointment, readRelatedAppointment } from '../booking/related-reads.ts';
import { config } from '../config.ts';
import { newId } from '../medplum.ts';
import { readInBatch } from '../read.ts';

/** An appointment that changes together with another one of its visit, and what it depends on. */
export interface DependentAppointment extends RelatedAppointment {
  readonly appointment: Appointment;
  readonly patients: Patients;
  readonly tasks: readonly Task[];
}

export const groupSearch = (group: string): string =>
  searchUrl('Appointment', [
    ['identifier', `${artefactUri(config, 'LocalVisitGroup')}|${group}`],
    ['_count', '100'],
  ]);

/**
 * Reads the other future appointments of a visit that ends as a whole, such as a visit that is offered. They belong to the
 * same requestor, and are read with the Bot's own rights.
 */
export async function readDependentAppointments(
  medplum: MedplumClient,
  appointment: Appointment,
): Promise<DependentAppointment[]> {
  const [group, mark] = [visitGroupOf(appointment, config), stepOf(appointment, config)];
  if (group === undefined || !mark) {
    return [];
  }
  const found = await readInBatch(medplum, [
    groupSearch(group),
    searchUrl('HealthcareService', [['_id', mark.service]]),
  ]);
  const state = resourceSet(found.flat());
  const isAlone = isByItself(appointment, state, config) && !isPersonalOffer(appointment, config);
  const others = isAlone ? [] : otherAppointmentsOf(appointment, state, Date.now(), config);
  return relatedTo(medplum, appointment, others);
}

/** Reads the other open, future appointments of the visit that one message covers. */
export async function readNotifiedTogether(
  medplum: MedplumClient,
  appointment: Appointment,
): Promise<DependentAppointment[]> {
  const group = notifiedGroupOf(appointment, config);
  const [found = []] = group === undefined ? [] : await readInBatch(medplum, [groupSearch(group)]);
  return relatedTo(medplum, appointment, otherAppointmentsOf(appointment, resourceSet(found), Date.now(), config));
}

/** Reads those of other appointments that have the same requestor and have not begun, with their slots and Tasks. */
function relatedTo(
  medplum: MedplumClient,
  one: Appointment,
  others: readonly Appointment[],
): Promise<DependentAppointment[]> {
  const now = Date.now();
  const own = others.filter(
    (appointment) => ownerOf(appointment, config) === ownerOf(one, config) && !hasBegun(appointment, now),
  );
  return Promise.all(
    own.map(async (appointment): Promise<DependentAppointment> => {
      const related = await readRelatedAppointment(medplum, appointment.id ?? '');
      const current = related.appointment ?? appointment;
      return { ...related, ...(await completeRelated(medplum, current, related)), appointment: current };
    }),
  );
}

const unique = <T>(all: readonly T[], keyOf: (one: T) => string | undefined): T[] => [
  ...new Map(all.map((one) => [keyOf(one), one])).values(),
];

/** The related Slots of several appointments together. Their use of each other's Slots does not count. */
function relatedOf(appointments: readonly Appointment[], read: readonly AppointmentSlots[]): RelatedSlots {
  const ids = new Set(appointments.map(({ id }) => id));
  const others = unique(
    read.flatMap((appointmentSlots) => appointmentSlots.others),
    ({ id }) => id,
  );
  return {
    unnamed: read.flatMap(({ unnamed = [] }) => unnamed),
    slots: unique(
      read.flatMap(({ slots }) => slots),
      ({ id }) => id,
    ),
    uses: usesOf(others.filter(({ id }) => !ids.has(id))),
    schedules: unique(
      read.flatMap(({ schedules }) => schedules),
      ({ schedule }) => schedule.id,
    ),
    lost: unique(
      read.flatMap(({ lost }) => lost),
      ({ id }) => id,
    ),
    kept: new Set(read.flatMap(({ kept = [] }) => [...kept])),
    left: read.flatMap(({ left = [] }) => left),
  };
}

/**
 * The entries that let the slots of appointments follow them.
 * @param appointments - as they are about to be
 * @param read - what was read for each (`readAppointmentSlots`)
 */
export function followingEntries(
  appointments: readonly Appointment[],
  read: readonly AppointmentSlots[],
): BundleEntry[] {
  const [only] = read;
  const related = read.length === 1 && only ? only : relatedOf(appointments, read);
  return slotEntriesOf(appointments, related, config, newId, Date.now(), releaseRows);
}
