import { randomUUID } from 'node:crypto';
import type { Appointment, CodeableConcept, Extension, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, aSchedule, book, stored, succeeded } from '../fixtures.ts';
import { request } from '../http.ts';
import { config, type Role } from '../installation.ts';
import { aSlotIn, length, policy, whole } from '../policy/fixtures.ts';

const HOUR = 3_600_000;

/** The policy of a clinic that offers freed time to those who wait. */
export const refilling = (...parts: Extension[]) => policy({ url: 'refill', valueBoolean: true }, ...parts);

/** A clinic with a service of its own and a slot in so many hours, booked by portal B. */
export async function aFullClinic(hours = 48, ...parts: Extension[]) {
  const service: CodeableConcept = {
    coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }],
  };
  const schedule = await aSchedule({ serviceType: [service], ...refilling(...parts) });
  const slot = await aSlotIn(hours, schedule);
  const patient = await aPatient('portal-b');
  const booked = await bookWhole(slot, patient, service, 'portal-b');
  return { service, schedule, slot, booked };
}

/** Books the whole of a slot. */
export const bookWhole = async (slot: Slot, patient: Patient, service: CodeableConcept, role: Role = 'portal-a') =>
  succeeded('Appointment', await book(whole(slot, patient, { serviceType: [service] }), role));

/** An entry as a portal sends it: for anything within two weeks. */
export const waiting = (patient: Patient, service: CodeableConcept, more: Partial<Appointment> = {}): Appointment => ({
  resourceType: 'Appointment',
  status: 'waitlist',
  serviceType: [service],
  requestedPeriod: [
    { start: new Date(Date.now() - HOUR).toISOString(), end: new Date(Date.now() + 14 * 24 * HOUR).toISOString() },
  ],
  participant: [{ actor: { reference: `Patient/${patient.id}`, display: 'Kim Muster' }, status: 'accepted' }],
  ...more,
});

/** `$waitlist` as a requestor. */
export const join = (body: unknown, role: Role = 'portal-a') =>
  request(role, 'POST', '/Appointment/$waitlist', { body });

/** Somebody who waits, and the entry. */
export async function aWaiting(service: CodeableConcept, role: Role = 'portal-a', more: Partial<Appointment> = {}) {
  const patient = await aPatient(role);
  return { patient, entry: succeeded('Appointment', await join(waiting(patient, service, more), role)) };
}

/** The place in an answer of `$waitlist`. */
export const positionIn = ({ extension }: Appointment): number | undefined =>
  extension?.find(({ url }) => url === artefactUri(config, 'LocalPosition'))?.valuePositiveInt;

/** Until when an appointment is held. */
const isFor = ({ extension = [] }: Appointment, { id }: Appointment): boolean =>
  extension.some(
    ({ url, extension: parts = [] }) =>
      url === artefactUri(config, 'LocalOffer') &&
      parts.some(({ valueReference }) => valueReference?.reference === `Appointment/${id}`),
  );

/** All offers that were made for an entry. */
export const offersFor = async (entry: Appointment, { id }: Patient): Promise<Appointment[]> =>
  (await stored('Appointment', `patient=Patient/${id}&_sort=_lastUpdated`)).filter((appointment) =>
    isFor(appointment, entry),
  );

/** The offer that is made for an entry, once it is made. */
export async function offerFor(entry: Appointment, patient: Patient): Promise<Appointment> {
  const found = await eventually(() => offersFor(entry, patient)).is((offers) => offers.length > 0);
  const offer = found.at(-1);
  if (!offer) {
    throw new Error('There is no offer.');
  }
  return offer;
}

/** What is sent to accept an offer. */
export const accepting = (offer: Appointment): Appointment => ({
  resourceType: 'Appointment',
  meta: { profile: [artefactUri(config, 'LocalTermin')] },
  id: offer.id ?? '',
  status: 'proposed',
  start: offer.start ?? '',
  end: offer.end ?? '',
  slot: offer.slot ?? [],
  participant: offer.participant,
});

export const shortly = length('offerFor', 1, 'min');

/** The free, held and booked slots of a schedule. */
export const statusesOf = async ({ id }: Schedule): Promise<string[]> =>
  (await stored('Slot', `schedule=Schedule/${id}&_sort=start`)).map(({ status }) => status);
