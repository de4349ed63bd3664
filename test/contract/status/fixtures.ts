import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { aClinic, book, minutes, proposed, succeeded } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { config, type Role } from '../installation.ts';

/** What makes a schedule one that the clinic confirms by hand. */
export const byHand = {
  extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }],
};

/** A request of portal A that waits for the clinic. */
export async function aPending() {
  const clinic = await aClinic(byHand);
  const pending = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
  return { ...clinic, pending, id: pending.id ?? '' };
}

/** The appointment as clinic staff read it in Medplum. */
export const inMedplum = async (id: string) =>
  resourceIn('Appointment', await medplum('front-desk', 'GET', `/Appointment/${id}`));

/** Clinic staff edit the appointment in Medplum, by PUT. */
export async function edit(id: string, changes: Partial<Appointment>) {
  return medplum('front-desk', 'PUT', `/Appointment/${id}`, { body: { ...(await inMedplum(id)), ...changes } });
}

/** Where an appointment is to be: its time, and the Slots that are made for it. */
export interface Target {
  readonly from: number;
  readonly to: number;
  readonly slots: readonly (readonly [schedule: Schedule, from: number, to: number])[];
}

/** Moves an appointment as Medplum's `$reschedule` and its app do: other Slots in place of its own, in one transaction. */
export async function moveAnew(id: string, { from, to, slots }: Target, role: Role = 'front-desk') {
  const appointment = await inMedplum(id);
  const made = slots.map(([schedule, start, end], index) => {
    const resource: Slot = {
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule.id}` },
      status: 'busy',
      start: minutes(start),
      end: minutes(end),
    };
    const fullUrl = `urn:uuid:00000000-0000-4000-8000-00000000000${index}`;
    return { fullUrl, resource, request: { method: 'POST', url: 'Slot' } };
  });
  const slot = made.map(({ fullUrl }) => ({ reference: fullUrl }));
  const resource: Appointment = { ...appointment, start: minutes(from), end: minutes(to), slot };
  const entry = [
    ...(appointment.slot ?? []).map(({ reference }) => ({ request: { method: 'DELETE', url: reference } })),
    ...made,
    { resource, request: { method: 'PUT', url: `Appointment/${id}` } },
  ];
  return medplum(role, 'POST', '', { body: { resourceType: 'Bundle', type: 'transaction', entry } });
}
