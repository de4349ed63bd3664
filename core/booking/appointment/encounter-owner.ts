import type { Appointment, Encounter } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatReference, parseReference } from '../../fhir/reference.ts';
import { ownerOf, requestorTag, tagsOfOthers } from '../../fhir/tags.ts';

const MAX_APPOINTMENTS = 50;

/** The appointments that an encounter names: `Appointment/id`, each once, and only the first fifty. */
export function appointmentsOf({ appointment = [] }: Encounter, { baseUrl }: PublicConfig): string[] {
  const named = appointment.flatMap(({ reference }) => parseReference(reference, baseUrl, ['Appointment']) ?? []);
  return [...new Set(named.map(formatReference))].slice(0, MAX_APPOINTMENTS);
}

/** Whether a patient takes part in an appointment. */
function isPatientOf(patient: string, { participant }: Appointment, { baseUrl }: PublicConfig): boolean {
  return participant.some(({ actor }) => {
    const found = parseReference(actor?.reference, baseUrl, ['Patient']);
    return found !== undefined && formatReference(found) === patient;
  });
}

/**
 * The requestors that an encounter is shown to: those whose appointment led to it, as long as its subject is the patient of
 * that appointment.
 *
 * @param appointments - those that the encounter names, as far as they exist
 * @returns ids of profiles, in order
 */
function ownersOf(encounter: Encounter, appointments: readonly Appointment[], config: PublicConfig): string[] {
  const subject = parseReference(encounter.subject?.reference, config.baseUrl, ['Patient']);
  const named = appointmentsOf(encounter, config);
  const own = appointments.filter(
    (appointment) =>
      subject &&
      named.includes(`Appointment/${appointment.id}`) &&
      isPatientOf(formatReference(subject), appointment, config),
  );
  return [...new Set(own.flatMap((appointment) => ownerOf(appointment, config) ?? []))].sort();
}

/**
 * An encounter with the tags of the requestors that it is shown to, and of no others.
 *
 * @param appointments - those that the encounter names, as far as they exist
 * @returns the same encounter if its tags are right
 */
export function withOwners(
  encounter: Encounter,
  appointments: readonly Appointment[],
  config: PublicConfig,
): Encounter {
  const owners = ownersOf(encounter, appointments, config).map((owner) => requestorTag(owner, config));
  const tag = [...tagsOfOthers(encounter, config), ...owners];
  const isRight = JSON.stringify(encounter.meta?.tag ?? []) === JSON.stringify(tag);
  return isRight ? encounter : { ...encounter, meta: { ...encounter.meta, tag } };
}
