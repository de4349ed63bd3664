import type { Appointment, CodeableConcept, Patient, RelatedPerson } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { nameOf } from '../../../core/fhir/human-name.ts';
import { payerKindsOf } from '../../../core/fhir/payer-kind.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { listOf } from '../../../packages/web/elements.ts';

/** The id of the patient of an appointment, if it names one. */
export const patientIdOf = ({ participant }: Appointment): string | undefined =>
  listOf(participant)
    .map(({ actor }) => idIn(actor, 'Patient'))
    .find((id) => id !== undefined);

/** The patient's name, as the appointment itself has it. */
const displayOf = ({ participant }: Appointment): string =>
  listOf(participant).find(({ actor }) => idIn(actor, 'Patient') !== undefined)?.actor?.display ?? '';

/** The patient's name: as the record has it, else as the appointment says; empty if neither does. */
export function patientNameOf(appointment: Appointment, patients: ReadonlyMap<string, Patient>): string {
  const patient = patients.get(patientIdOf(appointment) ?? '');
  return (patient && nameOf(patient)) || displayOf(appointment);
}

/** The names of all who take part besides the patient, as the appointment itself has them. */
export function otherNamesIn({ participant }: Appointment): string {
  const others = listOf(participant).filter(({ actor }) => !idIn(actor, 'Patient'));
  return others.flatMap(({ actor }) => actor?.display ?? []).join(', ');
}

/** How somebody is reached: an old number may be somebody else's by now. */
export const contactOf = (
  patient: Pick<Patient, 'telecom'> | undefined,
  system: 'phone' | 'email',
): string | undefined =>
  listOf(patient?.telecom).find((contact) => contact.system === system && contact.use !== 'old')?.value;

/** The people who speak for a patient, such as the parents of a child; each once, however often they have booked. */
export function guardiansIn(resources: readonly unknown[], patient: string | undefined): RelatedPerson[] {
  const found = resources
    .filter((one) => isResource(one, 'RelatedPerson'))
    .filter(
      (relatedPerson) =>
        relatedPerson.active !== false && patient !== undefined && idIn(relatedPerson.patient, 'Patient') === patient,
    );
  return [...new Map(found.map((relatedPerson) => [guardianText(relatedPerson), relatedPerson])).values()];
}

/** Who speaks for a patient, and how they are reached. */
export const guardianText = (guardian: RelatedPerson): string =>
  [nameOf(guardian), contactOf(guardian, 'phone'), contactOf(guardian, 'email')].filter(Boolean).join(', ');

/** A concept as people read it. */
export function conceptText(concept: CodeableConcept | undefined): string {
  const texts = listOf(concept?.coding).map(({ display, code }) => display ?? code);
  return concept?.text || texts.find((text) => text) || '';
}

/** What the appointment is for. */
export function servicesOf({ serviceType }: Appointment): string {
  return listOf(serviceType).map(conceptText).filter(Boolean).join(', ');
}

/**
 * Who pays for the appointment.
 *
 * @param names - what kinds of payers are called, by their codes; others are called as the clinic calls them
 */
export function payersOf(
  appointment: Appointment,
  names: Readonly<Record<string, string>>,
  config: PublicConfig,
): string {
  return payerKindsOf(appointment, config)
    .map(({ code, display }) => names[code ?? ''] ?? display ?? code)
    .filter(Boolean)
    .join(', ');
}
