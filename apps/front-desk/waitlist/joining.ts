import type { Appointment, AppointmentParticipant, CodeableConcept, Parameters, Schedule } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isSameService } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { extensionIn, listOf, partsOf } from '../../../packages/web/elements.ts';
import { identifierOf } from '../appointment/booking.ts';
import { conceptText } from '../appointment/people.ts';

/** The searches for the Schedules and services that may have a waitlist. */
export const waitedSearches = [
  { type: 'Schedule', query: [] },
  { type: 'HealthcareService', query: [] },
] as const;

/** The services whose freed time is offered to the waitlist, sorted by name. */
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

/** The actors to choose from for a service: the first actor of each Schedule that offers it. */
export function waitedFor(service: CodeableConcept | undefined, schedules: readonly Schedule[]): Actor[] {
  const actors = schedules
    .filter(
      ({ serviceType }) =>
        !Array.isArray(serviceType) || serviceType.some((concept) => service && isSameService(concept, service)),
    )
    .flatMap(({ actor }) => listOf(actor).find(({ reference }) => reference) ?? []);
  return [...new Map(actors.map((reference) => [reference.reference, reference])).values()];
}

interface Wish extends Interval {
  readonly who: { readonly id: string; readonly name: string };
  readonly service: CodeableConcept;
  /** `undefined` if it does not matter. */
  readonly actor: Actor | undefined;
  /** Id of the current appointment, which is kept until an earlier one is accepted. */
  readonly current: string | undefined;
  /** Id of the entry: equal in repeated requests. */
  readonly uuid: string;
}

/** The body of `$waitlist`. The clinic sends messages to the patient, or calls. */
export function joinRequest(
  { who, service, actor, current, uuid, start, end }: Wish,
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
      ...(current ? [{ name: 'standing-appt-id', valueUri: `Appointment/${current}` }] : []),
    ],
  };
}

/** The position in a response of `$waitlist`. */
export const positionIn = ({ extension }: Appointment, config: PublicConfig): number | undefined =>
  extensionIn(extension, artefactUri(config, 'LocalPosition'))?.valuePositiveInt;
