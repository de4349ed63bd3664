import type { CodeableConcept, HealthcareService, Reference, ResourceType, Schedule } from '@medplum/fhirtypes';
import { isObject } from './resource.ts';

/** A reference to a resource of this service, split into its parts. */
export interface LocalReference<T extends ResourceType = ResourceType> {
  readonly type: T;
  readonly id: string;
}

const idPattern = /^[A-Za-z0-9\-.]{1,64}$/;

/**
 * Whether a value can be the logical id of a resource.
 *
 * @see https://hl7.org/fhir/R4/datatypes.html#id
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value) && value !== '.' && value !== '..';
}

/**
 * Reads a literal reference to a resource of this service: `Type/id`, `{baseUrl}/Type/id`, either of them with a version,
 * which is read as the current one.
 *
 * @param value - anything; what is not such a reference (another server's address, a query, a path that climbs, a
 *   contained reference or a URN) gives `undefined`
 * @param baseUrl - public base address of this service, without a trailing slash
 * @param types - the resource types that are allowed here
 * @see https://hl7.org/fhir/R4/references.html#literal
 */
export function parseReference<T extends ResourceType>(
  value: unknown,
  baseUrl: string,
  types: readonly T[],
): LocalReference<T> | undefined {
  if (typeof value !== 'string') {
    return undefined;
  }
  const relative = value.startsWith(`${baseUrl}/`) ? value.slice(baseUrl.length + 1) : value;
  const [type, id, history, version, ...rest] = relative.split('/');
  const known = types.find((candidate) => candidate === type);
  const isVersioned = history === '_history' && isId(version);
  if (!known || !isId(id) || rest.length > 0 || (history !== undefined && !isVersioned)) {
    return undefined;
  }
  return { type: known, id };
}

/** Writes a reference the way the service stores it: `Type/id`. */
export function formatReference({ type, id }: LocalReference): string {
  return `${type}/${id}`;
}

/** A reference to this service with its address or a version, `Type/id` within it. */
const LOCAL = /^([A-Z][A-Za-z]+\/[A-Za-z0-9\-.]{1,64})(\/_history\/[A-Za-z0-9\-.]{1,64})?$/;

/** A reference as it is stored: one to this service without its address and version. */
export function storedReference(reference: string, baseUrl: string): string {
  const relative = reference.startsWith(`${baseUrl}/`) ? reference.slice(baseUrl.length + 1) : reference;
  return LOCAL.exec(relative)?.[1] ?? reference;
}

/**
 * What a client has sent, with its references to this service as it stores them: `Type/id`, at any depth. They then lead to
 * the same when the service gets another address, and Medplum's searches find them.
 *
 * @param sent - of any content, at most as deep as `DEEPEST`
 */
export function withStoredReferences<T>(sent: T, baseUrl: string): T;
export function withStoredReferences(sent: unknown, baseUrl: string): unknown {
  if (Array.isArray(sent)) {
    return sent.map((one) => withStoredReferences(one, baseUrl));
  }
  const entries = Object.entries(isObject(sent) ? sent : {}).map(([name, value]) => {
    const isReference = name === 'reference' && typeof value === 'string';
    return [name, isReference ? storedReference(value, baseUrl) : withStoredReferences(value, baseUrl)] as const;
  });
  return isObject(sent) ? Object.fromEntries(entries) : sent;
}

/** The id in a stored reference of the form `Type/id`, or `undefined`. */
export function idIn(reference: { readonly reference?: string } | undefined, type: ResourceType): string | undefined {
  const [found, id] = reference?.reference?.split('/') ?? [];
  return found === type ? id : undefined;
}

/** Medplum's extension by which a coded service names its HealthcareService. */
export const SERVICE_TYPE_REFERENCE = 'https://medplum.com/fhir/service-type-reference';

/** The id of the HealthcareService that a coded service names. */
export function serviceIdOf({ extension = [] }: CodeableConcept): string | undefined {
  const reference = extension.find(({ url }) => url === SERVICE_TYPE_REFERENCE)?.valueReference?.reference;
  const [type, id] = reference?.split('/') ?? [];
  return type === 'HealthcareService' ? id : undefined;
}

/** A coded service without the reference by which it names its HealthcareService. */
export function withoutServiceReference({ extension = [], ...type }: CodeableConcept): CodeableConcept {
  const others = extension.filter(({ url }) => url !== SERVICE_TYPE_REFERENCE);
  return others.length > 0 ? { ...type, extension: others } : type;
}

/** The ids of the services that a Schedule offers, each once: those whose calendar it is, and those that it names. */
export function serviceIdsOfSchedule(schedule: Schedule): string[] {
  const actors = schedule.actor.flatMap((actor) => idIn(actor, 'HealthcareService') ?? []);
  return [...new Set([...actors, ...serviceIdsOf(schedule)])];
}

/** The ids of the services that a Schedule or a Slot names, each once. */
export function serviceIdsOf({ serviceType = [] }: Pick<Schedule, 'serviceType'>): string[] {
  return [...new Set(serviceType.map(serviceIdOf).filter((id) => id !== undefined))];
}

/** Medplum's code for a Schedule that offers every service. */
const allServices = { system: 'https://medplum.com/fhir/CodeSystem/scheduling-service-type', code: 'all' } as const;

/** Whether a Schedule offers all services. */
export function servesAll({ serviceType = [] }: Pick<Schedule, 'serviceType'>): boolean {
  return serviceType.some(({ coding = [] }) =>
    coding.some(({ system, code }) => system === allServices.system && code === allServices.code),
  );
}

/** How a published Slot names its service: by its codes, and by reference, as Medplum's `$find` does. */
export function serviceTypeOf(service: HealthcareService & { readonly id: string }): CodeableConcept[] {
  const valueReference: Reference<HealthcareService> = { reference: `HealthcareService/${service.id}` };
  const link = { url: SERVICE_TYPE_REFERENCE, valueReference };
  const types: CodeableConcept[] = service.type?.length ? service.type : [{}];
  return types.map((type) => ({ ...type, extension: [...(type.extension ?? []), link] }));
}

/** Whether two service types name the same HealthcareService, or have a code in common. */
export function isSameService(concept: CodeableConcept, other: CodeableConcept): boolean {
  const [id, otherId] = [serviceIdOf(concept), serviceIdOf(other)];
  const codings = other.coding ?? [];
  return (
    (id !== undefined && id === otherId) ||
    (concept.coding ?? []).some(({ system, code }) =>
      codings.some((coding) => coding.system === system && coding.code === code),
    )
  );
}

/** Whether a Slot is for what an appointment is for; where neither says what, it is. */
export function servesService(
  types: readonly CodeableConcept[],
  offered: readonly CodeableConcept[],
  isSameSchedule: boolean,
): boolean {
  const wanted = types.filter(({ coding }) => coding);
  return wanted.length === 0
    ? isSameSchedule || offered.length === 0
    : offered.length === 0 || wanted.some((type) => offered.some((concept) => isSameService(concept, type)));
}
