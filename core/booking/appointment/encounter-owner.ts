import type { Appointment, Encounter } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatReference, parseReference } from '../../fhir/reference.ts';
import { ownerOf, requestorTag, tagsOfOthers } from '../../fhir/tags.ts';

const MAX_APPOINTMENTS = 50;

/** The first fifty appointments that an encounter names, as `Appointment/id` without duplicates. */
export function appointmentsOf({ appointment = [] }: Encounter, { baseUrl }: PublicConfig): string[] {
  const named = appointment.flatMap(({ reference }) => parseReference(reference, baseUrl, ['Appointment']) ?? []);
  return [...new Set(named.map(formatReference))].slice(0, MAX_APPOINTMENTS);
}

function isPatientOf(patient: string, { participant }: Appointment, { baseUrl }: PublicConfig): boolean {
  return participant.some(({ actor }) => {
    const found = parseReference(actor?.reference, baseUrl, ['Patient']);
    return found !== undefined && formatReference(found) === patient;
  });
}

/**
 * The requestors that may see an encounter: the owners of its appointments. The encounter's subject must be a patient
 * of the appointment.
 * @param appointments - the existing appointments of the encounter
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
 * Gives an encounter the tags of the requestors that may see it, and removes other requestors' tags.
 * @param appointments - the existing appointments of the encounter
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
