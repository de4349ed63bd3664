import type {
  CodeSystem,
  CodeSystemConcept,
  Coding,
  NamingSystem,
  UsageContext,
  ValueSet,
  ValueSetExpansionContains,
} from '@medplum/fhirtypes';
import type { BookingConfig } from '../core/config/config.ts';
import { type Artefact, artefactName, artefacts, artefactUri } from '../core/fhir/artefacts.ts';
import { bookingErrors } from '../core/fhir/outcome/errors.ts';
import { rowKinds } from '../core/rows/row.ts';
import { metadata } from './metadata.ts';
import { services, specialties } from './services.ts';

/** The code for the resource types in which a CodeSystem is used (specification 4.1). */
export const RESOURCE_USAGE = 'ResourceUsage';

interface CodeSystemSource {
  readonly artefact: Artefact;
  readonly title: string;
  readonly description: string;
  /** The codes. If the repository assigns ids as codes, an example of them. */
  readonly concepts: Readonly<Record<string, string>>;
  readonly isExample?: true;
  /** Resource types in which the codes are used; requestors find the code system by them. */
  readonly usedIn?: readonly string[];
  /** Whether there is a ValueSet of all its codes. */
  readonly withValueSet?: boolean;
}

const errors = Object.fromEntries(Object.entries(bookingErrors).map(([code, { display }]) => [code, display]));

const rows = Object.fromEntries(Object.entries(rowKinds).map(([code, { display }]) => [code, display]));

/** An example of a code that is an id assigned by the repository. */
const exampleOf = (display: string) =>
  ({ concepts: { '00000000-0000-4000-8000-000000000000': display }, isExample: true }) as const;

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
    concepts: rows,
  },
  {
    artefact: 'LocalChangedBy',
    title: 'Authors of changes',
    description:
      'System of the tag that says on whose behalf a version was written and which version it replaced; the codes are ' +
      'ids of profiles in the repository.',
    ...exampleOf('Example: the id of a profile'),
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
    artefact: 'LocalPayerKinds',
    title: 'Payer kinds',
    description: 'The codes in the extension LocalPayerKind: who pays for an appointment.',
    concepts: { statutory: 'Statutory health insurance', private: 'Private health insurance', 'self-pay': 'Self-pay' },
    usedIn: ['Slot'],
    withValueSet: true,
  },
  {
    artefact: 'LocalRequestor',
    title: 'Appointment requestors',
    description:
      'System of the tag that marks the resources of a requestor; the codes are the ids of the requestors in the ' +
      'repository.',
    ...exampleOf('Example: the id of a requestor'),
  },
];

/** Context of a ValueSet: the subject of its codes. */
const focus: Coding = { system: 'http://terminology.hl7.org/CodeSystem/usage-context-type', code: 'focus' };

const usageContext = (code: Coding, resourceType: string, config: BookingConfig): UsageContext => ({
  code,
  valueCodeableConcept: { coding: [{ system: config.resourceTypesSystem, code: resourceType }] },
});

function concepts(codes: Readonly<Record<string, string>>): CodeSystemConcept[] {
  return Object.entries(codes).map(([code, display]) => ({ code, display }));
}

function valueSetUri(config: BookingConfig, artefact: Artefact): string {
  return `${config.localBase}/ValueSet/${artefactName(config, artefact)}`;
}

function codeSystem(source: CodeSystemSource, config: BookingConfig): CodeSystem {
  const { artefact, title, description, usedIn, withValueSet } = source;
  const usage: Coding = { system: config.contextTypeSystem, code: RESOURCE_USAGE };
  return {
    resourceType: 'CodeSystem',
    url: artefactUri(config, artefact),
    ...metadata,
    name: artefactName(config, artefact),
    title,
    description,
    ...(usedIn && { useContext: usedIn.map((type) => usageContext(usage, type, config)) }),
    caseSensitive: true,
    ...(withValueSet && { valueSet: valueSetUri(config, artefact) }),
    content: source.isExample ? 'example' : 'complete',
    concept: concepts(source.concepts),
  };
}

/** The context type belongs to the installation only if its system is the one of the artefact. */
function isOwn({ artefact }: CodeSystemSource, config: BookingConfig): boolean {
  return artefact !== 'LocalContextType' || config.contextTypeSystem === artefactUri(config, artefact);
}

/**
 * The code systems of the service. LocalContextType is left out if `contextTypeSystem` belongs to another publisher.
 *
 * @see specification section 4.1
 */
export function codeSystems(config: BookingConfig): CodeSystem[] {
  return sources.filter((source) => isOwn(source, config)).map((source) => codeSystem(source, config));
}

function listed(system: string, codes: readonly CodeSystemConcept[]): ValueSetExpansionContains[] {
  return codes.flatMap(({ code = '', display = code, concept = [] }) => [
    { system, version: metadata.version, code, display },
    ...listed(system, concept),
  ]);
}

/**
 * A ValueSet with an expansion: the codes of its CodeSystem.
 *
 * @param timestamp - time of the expansion
 */
export function expanded(valueSet: ValueSet, { url = '', concept = [] }: CodeSystem, timestamp: string): ValueSet {
  // Medplum recomputes an expansion that has parameters: its app shows codes of the clinic at once.
  const parameter = [{ name: 'used-codesystem', valueUri: `${url}|${metadata.version}` }];
  const contains = listed(url, concept);
  return { ...valueSet, expansion: { timestamp, total: contains.length, parameter, contains } };
}

function valueSet(source: CodeSystemSource, config: BookingConfig): ValueSet {
  const { artefact, title, description, usedIn } = source;
  const resource: ValueSet = {
    resourceType: 'ValueSet',
    url: valueSetUri(config, artefact),
    ...metadata,
    name: artefactName(config, artefact),
    title,
    description,
    ...(usedIn && { useContext: usedIn.map((type) => usageContext(focus, type, config)) }),
    compose: { include: [{ system: artefactUri(config, artefact) }] },
  };
  return expanded(resource, codeSystem(source, config), metadata.date);
}

/** The value sets of the service: all codes of the services and of the specialties. */
export function valueSets(config: BookingConfig): ValueSet[] {
  return sources.filter(({ withValueSet }) => withValueSet).map((source) => valueSet(source, config));
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
  LocalSentMessage: 'Identifies a message to a person: the id of the appointment and the number of the message.',
  LocalVisitGroup: 'Identifies a visit: the same on each of its appointments.',
};

/** The naming systems of the identifiers that the service makes. */
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
