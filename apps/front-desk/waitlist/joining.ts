import type { Appointment, AppointmentParticipant, CodeableConcept, Parameters, Schedule } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isSameService } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { extensionIn, listOf, partsOf } from '../../../packages/web/elements.ts';
import { identifierOf } from '../appointment/booking.ts';
import { conceptText } from '../appointment/people.ts';

/** The searches for what can be waited for. */
export const waitedSearches = [
  { type: 'Schedule', query: [] },
  { type: 'HealthcareService', query: [] },
] as const;

/** The services whose freed time is offered to those who wait, by their names. */
export function waitedServices(resources: readonly unknown[], config: PublicConfig): CodeableConcept[] {
  const types = resources.flatMap((one): CodeableConcept[] => {
    const isHolder = isResource(one, 'Schedule') || isResource(one, 'HealthcareService');
    if (
      !isHolder ||
      extensionIn(partsOf(one.extension, artefactUri(config, 'LocalBookingPolicy')), 'refill')?.valueBoolean !== true
    ) {
      return [];
    }
    const own = isResource(one, 'Schedule') ? one.serviceType : one.type;
    return listOf(own).filter((type) => Array.isArray(type.coding) && conceptText(type) !== '');
  });
  const unique = types.filter((type, index) => types.findIndex((concept) => isSameService(concept, type)) === index);
  return unique.toSorted((concept, other) => conceptText(concept).localeCompare(conceptText(other)));
}

type Actor = NonNullable<AppointmentParticipant['actor']>;

/** With whom somebody can wait for a service: the first of each calendar that offers it. */
export function waitedFor(service: CodeableConcept | undefined, schedules: readonly Schedule[]): Actor[] {
  const actors = schedules
    .filter(
      ({ serviceType }) =>
        !Array.isArray(serviceType) || serviceType.some((concept) => service && isSameService(concept, service)),
    )
    .flatMap(({ actor }) => listOf(actor).find(({ reference }) => reference) ?? []);
  return [...new Map(actors.map((reference) => [reference.reference, reference])).values()];
}

/** What staff note for somebody who waits. */
interface Wish extends Interval {
  readonly who: { readonly id: string; readonly name: string };
  readonly service: CodeableConcept;
  /** With whom; nobody: it does not matter. */
  readonly actor: Actor | undefined;
  /** Id of the appointment that stands until something earlier is taken. */
  readonly standing: string | undefined;
  /** Of this entry: the same however often it is sent. */
  readonly uuid: string;
}

/** The body of `$waitlist`: the clinic writes to the person, or calls. */
export function joinRequest(
  { who, service, actor, standing, uuid, start, end }: Wish,
  config: PublicConfig,
): Parameters {
  const resource: Appointment = {
    resourceType: 'Appointment',
    status: 'waitlist',
    identifier: identifierOf(uuid),
    extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }],
    serviceType: [service],
    requestedPeriod: [{ start: formatInstant(start), end: formatInstant(end) }],
    participant: [
      { actor: { reference: `Patient/${who.id}`, display: who.name }, status: 'accepted' },
      ...(actor ? [{ actor, status: 'accepted' as const }] : []),
    ],
  };
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource },
      ...(standing ? [{ name: 'standing-appt-id', valueUri: `Appointment/${standing}` }] : []),
    ],
  };
}

/** The place in the order that `$waitlist` has answered with. */
export const positionIn = ({ extension }: Appointment, config: PublicConfig): number | undefined =>
  extensionIn(extension, artefactUri(config, 'LocalPosition'))?.valuePositiveInt;
