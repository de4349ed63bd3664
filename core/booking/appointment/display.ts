import type { AppointmentParticipant, Resource } from '@medplum/fhirtypes';
import { nameOf } from '../../fhir/human-name.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';

/** The name of a person or thing that can take part in an appointment. */
function displayOf(resource: Resource | undefined): string | undefined {
  for (const type of ['Patient', 'RelatedPerson', 'Practitioner'] as const) {
    if (isResource(resource, type)) {
      return nameOf(resource) || undefined;
    }
  }
  return isResource(resource, 'HealthcareService') || isResource(resource, 'Location') ? resource.name : undefined;
}

/** The types of persons that a requestor may submit without a name: the type then serves as their name. */
const persons: readonly string[] = ['Patient', 'RelatedPerson'];

/**
 * Gives a display to every actor that has none: the name of the person or thing. A patient without a name is called
 * `Patient`, a related person `RelatedPerson`.
 *
 * @param resourceAt - what a participant's reference leads to, as far as it is known
 */
export function withDisplays(
  participants: readonly AppointmentParticipant[],
  resourceAt: (reference: string) => Resource | undefined,
): AppointmentParticipant[] {
  return participants.map((participant) => {
    const { reference, display } = participant.actor ?? {};
    if (!participant.actor || display || reference === undefined) {
      return participant;
    }
    const resource = resourceAt(reference);
    const type = resource?.resourceType ?? reference.split('/')[0] ?? '';
    const name = displayOf(resource) ?? (persons.includes(type) ? type : undefined);
    return name === undefined ? participant : { ...participant, actor: { ...participant.actor, display: name } };
  });
}

/** The form in which actors are compared. */
const keyOf = ({ actor }: AppointmentParticipant): string => JSON.stringify(actor ?? null);

/**
 * Finds the actors without a display.
 *
 * @param path - FHIRPath of the appointment
 * @param stored - participants that may stay as they are
 * @returns a `profile-violation` for each
 */
export function displayIssues(
  participants: readonly AppointmentParticipant[],
  path: string,
  stored: readonly AppointmentParticipant[] = [],
): Issue[] {
  const known = new Set(stored.map(keyOf));
  return participants.flatMap((participant, index): Issue[] => {
    const { actor } = participant;
    const expression = `${path}.participant[${index}].actor.display`;
    const diagnostics = `Say in ${expression} who takes part: the name of ${actor?.reference ?? 'the participant'}.`;
    return actor && !actor.display && !known.has(keyOf(participant))
      ? [{ code: 'profile-violation', diagnostics, expression }]
      : [];
  });
}
