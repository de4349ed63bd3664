import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { aClinic, book, proposed, succeeded } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

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
