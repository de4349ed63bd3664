import type { Appointment, Resource } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { type LocalReference, parseReference } from '../../fhir/reference/reference.ts';

/** The types of resources that can take part in an appointment. */
const actorTypes = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'RelatedPerson',
  'Device',
  'HealthcareService',
  'Location',
] as const;

/** A person or thing that takes part in an appointment. */
type ActorReference = LocalReference<(typeof actorTypes)[number]>;

/** Reads a participant's reference to a stored resource, as `parseReference` does. */
export function parseActor(reference: unknown, baseUrl: string): ActorReference | undefined {
  return parseReference(reference, baseUrl, actorTypes);
}

/** Whether an appointment can have this actor: a stored resource, or a contained one that is not a patient. */
function isActor(reference: unknown, contained: readonly (Resource | null | undefined)[], baseUrl: string): boolean {
  const inside = contained.find((one) => one?.id !== undefined && reference === `#${one.id}`);
  return inside ? inside.resourceType !== 'Patient' : parseActor(reference, baseUrl) !== undefined;
}

/**
 * Finds the actors that a change adds but no appointment can have: of another type, in another letter case, or on another
 * server.
 *
 * @returns a `malformed-request` for each, as `$book` refuses them
 */
export function addedActorIssues(stored: Appointment, result: Appointment, baseUrl: string): Issue[] {
  const known = new Set(stored.participant?.map(({ actor }) => JSON.stringify(actor)));
  const contained = Array.isArray(result.contained) ? result.contained : [];
  return (result.participant ?? []).flatMap(({ actor }, index) => {
    const expression = `Appointment.participant[${index}].actor`;
    const diagnostics = `${expression} must refer to a resource of this service that can take part, such as Practitioner/123.`;
    return !actor || known.has(JSON.stringify(actor)) || isActor(actor.reference, contained, baseUrl)
      ? []
      : [{ code: 'malformed-request', diagnostics, expression }];
  });
}
