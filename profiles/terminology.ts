import type { CodeSystem, CodeSystemConcept, NamingSystem, UsageContext, ValueSet } from '@medplum/fhirtypes';
import { type Artefact, artefactName, artefacts, artefactUri, type BookingConfig } from '../core/config/config.ts';
import { bookingErrors } from '../core/fhir/outcome/errors.ts';
import { metadata } from './metadata.ts';
import { services, specialties } from './services.ts';

/** The code by which a CodeSystem says in which resource types it is used (specification 4.1). */
export const RESOURCE_USAGE = 'ResourceUsage';

interface CodeSystemSource {
  readonly artefact: Artefact;
  readonly title: string;
  readonly description: string;
  /** Absent when the codes are not listed, because they are made elsewhere. */
  readonly concepts?: Readonly<Record<string, string>>;
  /** Resource types in which the codes are used; a requestor finds the code system by them. */
  readonly usedIn?: readonly string[];
  /** Whether there is a ValueSet of all its codes. */
  readonly withValueSet?: boolean;
}

const errors = Object.fromEntries(Object.entries(bookingErrors).map(([code, { display }]) => [code, display]));

/** The codes of the Tasks of the service: jobs, records, and what staff decide. */
const tasks = {
  book: 'An asynchronous booking',
  notify: 'The outbox of a Subscription',
  publish: 'How far the opening hours of a schedule are published',
  'publish-all': 'How far the schedules have been checked for what is to be published',
  announce: 'The time up to which the events of all changes are recorded',
  deletion: 'An appointment that is about to be deleted, or was deleted a moment ago',
  quota: 'A limited number of appointments',
  'near-limit': 'A portal that is near a limit of the installation',
  confirm: 'A requested appointment that waits for the clinic',
  collision: 'An appointment whose time something else takes: staff decide',
  subscriber: 'The count of Subscriptions of one subscriber',
};

/** A code of the CodeSystem LocalTask. */
export type TaskCode = keyof typeof tasks;

/** The codes of the CodeSystem LocalTask. */
export const taskCodes = Object.keys(tasks) as readonly TaskCode[];

const sources: readonly CodeSystemSource[] = [
  {
    artefact: 'LocalBookingError',
    title: 'Errors of the appointment booking service',
    description: 'The codes in OperationOutcome.issue.details.',
    concepts: errors,
  },
  {
    artefact: 'LocalTask',
    title: 'Jobs of the appointment booking service',
    description: 'The codes in Task.code of the jobs and records of the service.',
    concepts: tasks,
  },
  {
    artefact: 'LocalChangedBy',
    title: 'Authors of changes',
    description:
      'System of the tag that says on whose behalf a version was written and which version it replaced; the codes are ' +
      'ids of profiles in the repository.',
  },
  {
    artefact: 'LocalContextType',
    title: 'Types of usage contexts',
    description: 'The codes in CodeSystem.useContext.code.',
    concepts: { [RESOURCE_USAGE]: 'The resource types in which the codes are used' },
  },
  {
    artefact: 'LocalServiceType',
    title: 'Services open for booking',
    description: 'The codes in HealthcareService.type, Schedule.serviceType and Appointment.serviceType.',
    concepts: services,
    usedIn: ['HealthcareService', 'Schedule'],
    withValueSet: true,
  },
  {
    artefact: 'LocalSpecialty',
    title: 'Medical specialties',
    description: 'The codes in HealthcareService.specialty, Schedule.specialty and Appointment.specialty.',
    concepts: specialties,
    usedIn: ['HealthcareService', 'Schedule'],
    withValueSet: true,
  },
  {
    artefact: 'LocalRequestor',
    title: 'Appointment requestors',
    description:
      'System of the tag that marks the resources of a requestor; the codes are the ids of the requestors in the ' +
      'repository.',
  },
];

function usageContext(resourceType: string, config: BookingConfig): UsageContext {
  return {
    code: { system: config.contextTypeSystem, code: RESOURCE_USAGE },
    valueCodeableConcept: { coding: [{ system: config.resourceTypesSystem, code: resourceType }] },
  };
}

function concepts(codes: Readonly<Record<string, string>>): CodeSystemConcept[] {
  return Object.entries(codes).map(([code, display]) => ({ code, display }));
}

function valueSetUri(config: BookingConfig, artefact: Artefact): string {
  return `${config.localBase}/ValueSet/${artefactName(config, artefact)}`;
}

function codeSystem(source: CodeSystemSource, config: BookingConfig): CodeSystem {
  const { artefact, title, description, usedIn, withValueSet } = source;
  return {
    resourceType: 'CodeSystem',
    url: artefactUri(config, artefact),
    ...metadata,
    name: artefactName(config, artefact),
    title,
    description,
    ...(usedIn && { useContext: usedIn.map((type) => usageContext(type, config)) }),
    caseSensitive: true,
    ...(withValueSet && { valueSet: valueSetUri(config, artefact) }),
    content: source.concepts ? 'complete' : 'not-present',
    ...(source.concepts && { concept: concepts(source.concepts) }),
  };
}

/** The context type is the installation's own only if its system is the one that the artefact would have. */
function isOwn({ artefact }: CodeSystemSource, config: BookingConfig): boolean {
  return artefact !== 'LocalContextType' || config.contextTypeSystem === artefactUri(config, artefact);
}

/**
 * The code systems of the service. LocalContextType is left out where `contextTypeSystem` belongs to another publisher.
 *
 * @see specification section 4.1
 */
export function codeSystems(config: BookingConfig): CodeSystem[] {
  return sources.filter((source) => isOwn(source, config)).map((source) => codeSystem(source, config));
}

/** The value sets of the service: all codes of the services and of the specialties. */
export function valueSets(config: BookingConfig): ValueSet[] {
  return sources
    .filter(({ withValueSet }) => withValueSet)
    .map(({ artefact, title, description }) => ({
      resourceType: 'ValueSet',
      url: valueSetUri(config, artefact),
      ...metadata,
      name: artefactName(config, artefact),
      title,
      description,
      compose: { include: [{ system: artefactUri(config, artefact) }] },
    }));
}

const identifierSystems: Partial<Record<Artefact, string>> = {
  LocalSlotOrigin: 'Identifies the slot from which a slot was split off.',
  LocalPublishedSlot:
    'Identifies the slots that are generated from opening hours: by schedule, service, start and place, or by the closed day.',
  LocalBuffer: 'Identifies the buffers of a booking: the id of the slot that was booked.',
  LocalClosedDays: 'Identifies the healthcare service whose notAvailable times close every schedule.',
  LocalBot: 'Identifies the Bots of the service by name.',
  LocalEvent: 'Identifies an event: the id of the Subscription and the event number.',
  LocalErased: 'Identifies appointments whose patient was erased; the value reveals nothing.',
};

/** The naming systems of the service: the systems of the identifiers that it makes. */
export function namingSystems(config: BookingConfig): NamingSystem[] {
  return (Object.keys(artefacts) as Artefact[]).flatMap((artefact) => {
    const description = identifierSystems[artefact];
    if (!description) {
      return [];
    }
    return [
      {
        resourceType: 'NamingSystem',
        name: artefactName(config, artefact),
        status: metadata.status,
        kind: 'identifier',
        date: metadata.date,
        publisher: metadata.publisher,
        description,
        uniqueId: [{ type: 'uri', value: artefactUri(config, artefact), preferred: true }],
      },
    ];
  });
}
