import type { Appointment, CodeableConcept, ContactPoint, Patient, RelatedPerson } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource, nameOf } from '../../../core/fhir/resource.ts';
import { payerKindsOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { listOf } from '../../../packages/web/elements.ts';

/** The id of the patient of an appointment, if it names one. */
export const patientIdOf = ({ participant }: Appointment): string | undefined =>
  listOf(participant)
    .map(({ actor }) => idIn(actor, 'Patient'))
    .find((id) => id !== undefined);

const displayOf = ({ participant }: Appointment): string =>
  listOf(participant).find(({ actor }) => idIn(actor, 'Patient') !== undefined)?.actor?.display ?? '';

/** The patient's name from the record, or else from the appointment; empty if neither has one. */
export function patientNameOf(appointment: Appointment, patients: ReadonlyMap<string, Patient>): string {
  const patient = patients.get(patientIdOf(appointment) ?? '');
  return (patient && nameOf(patient)) || displayOf(appointment);
}

/** The names of the other participants, as stored in the appointment. */
export function otherNamesIn({ participant }: Appointment): string {
  const others = listOf(participant).filter(({ actor }) => !idIn(actor, 'Patient'));
  return others.flatMap(({ actor }) => actor?.display ?? []).join(', ');
}

/** A phone number or e-mail address. Old ones are left out: they may belong to somebody else by now. */
export const contactOf = (
  patient: Pick<Patient, 'telecom'> | undefined,
  system: 'phone' | 'email',
): string | undefined =>
  listOf(patient?.telecom).find((contact) => contact.system === system && contact.use !== 'old')?.value;

/** A patient with other contacts. The replaced ones are kept as old; an empty text only removes. */
export function withContacts(patient: Patient, contacts: Readonly<Record<'phone' | 'email', string>>): Patient {
  const changed = (['phone', 'email'] as const).filter(
    (system) => contacts[system].trim() !== (contactOf(patient, system) ?? ''),
  );
  const isReplaced = ({ system, value }: ContactPoint): boolean =>
    changed.some((one) => one === system && value === contactOf(patient, one));
  const added = changed.map((system): ContactPoint => ({ system, value: contacts[system].trim() }));
  return {
    ...patient,
    telecom: [
      ...added.filter(({ value }) => value),
      ...listOf(patient.telecom).map((one): ContactPoint => (isReplaced(one) ? { ...one, use: 'old' } : one)),
    ],
  };
}

/** The active people who act for a patient, such as parents. Duplicates from several bookings are removed. */
export function guardiansIn(resources: readonly unknown[], patient: string | undefined): RelatedPerson[] {
  const found = resources
    .filter((one) => isResource(one, 'RelatedPerson'))
    .filter(
      (relatedPerson) =>
        relatedPerson.active !== false && patient !== undefined && idIn(relatedPerson.patient, 'Patient') === patient,
    );
  return [...new Map(found.map((relatedPerson) => [guardianText(relatedPerson), relatedPerson])).values()];
}

/** Name and contacts of a guardian, for display. */
export const guardianText = (guardian: RelatedPerson): string =>
  [nameOf(guardian), contactOf(guardian, 'phone'), contactOf(guardian, 'email')].filter(Boolean).join(', ');

/** A concept for display. */
export function conceptText(concept: CodeableConcept | undefined): string {
  const texts = listOf(concept?.coding).map(({ display, code }) => display ?? code);
  return concept?.text || texts.find((text) => text) || '';
}

/** The services of an appointment, for display. */
export function servicesOf({ serviceType }: Appointment): string {
  return listOf(serviceType).map(conceptText).filter(Boolean).join(', ');
}

/** The payers of an appointment, for display. `names`: by payer code; other payers keep the clinic's own display. */
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
