import type { Appointment, AppointmentParticipant, Resource, Schedule } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { type LocalReference, parseReference } from '../../fhir/reference.ts';
import { isResource, nameOf } from '../../fhir/resource.ts';

const actorTypes = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'RelatedPerson',
  'Device',
  'HealthcareService',
  'Location',
] as const;

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
 * Finds the added actors that no appointment can have: another type, another letter case, or another server.
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

function displayOf(resource: Resource | undefined): string | undefined {
  for (const type of ['Patient', 'RelatedPerson', 'Practitioner'] as const) {
    if (isResource(resource, type)) {
      return nameOf(resource) || undefined;
    }
  }
  return isResource(resource, 'HealthcareService') || isResource(resource, 'Location') ? resource.name : undefined;
}

/** The types of persons that a requestor may submit without a name. The type then serves as their name. */
const persons: readonly string[] = ['Patient', 'RelatedPerson'];

/**
 * Gives a display to every actor that has none: the name of the person or thing. A patient without a name is called
 * `Patient`, a related person `RelatedPerson`.
 * @param resourceAt - the resource of a participant's reference, as far as it is known
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

const referencesOf = (schedules: readonly Schedule[]): ReadonlySet<string | undefined> =>
  new Set(schedules.flatMap(({ actor }) => actor.map(({ reference }) => reference)));

/**
 * Participants after a move to other Schedules: the actors of the old Schedules are replaced by those of the new ones.
 */
export function inOtherCalendars(
  participants: readonly AppointmentParticipant[],
  left: readonly Schedule[],
  joined: readonly Schedule[],
): AppointmentParticipant[] {
  const [gone, known] = [referencesOf(left), referencesOf(joined)];
  const isGone = (reference: string | undefined): boolean => gone.has(reference) && !known.has(reference);
  const stay = participants.filter(({ actor }) => !isGone(actor?.reference));
  const present = new Set(stay.map(({ actor }) => actor?.reference));
  // The Schedule's actors are added only where one was replaced.
  const added = stay.length < participants.length ? joined.flatMap(({ actor }) => actor) : [];
  return [
    ...stay,
    ...added
      .filter(({ reference }) => reference && !present.has(reference))
      .map((actor) => ({ actor, status: 'accepted' as const })),
  ];
}

const keyOf = ({ actor }: AppointmentParticipant): string => JSON.stringify(actor ?? null);

/**
 * Finds the actors without a display.
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
