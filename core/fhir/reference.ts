import type { CodeableConcept, HealthcareService, Reference, ResourceType, Schedule } from '@medplum/fhirtypes';
import { isObject } from './resource.ts';

export interface LocalReference<T extends ResourceType = ResourceType> {
  readonly type: T;
  readonly id: string;
}

const idPattern = /^[A-Za-z0-9\-.]{1,64}$/;

/**
 * Whether a value can be the logical id of a resource.
 * @see https://hl7.org/fhir/R4/datatypes.html#id
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value) && value !== '.' && value !== '..';
}

/**
 * Reads a literal reference to a resource of this service: `Type/id` or `{baseUrl}/Type/id`. A version is ignored.
 * @param value - anything. Another server's address, a query, a path with `..`, a contained reference or a URN results
 *   in `undefined`.
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

export function formatReference({ type, id }: LocalReference): string {
  return `${type}/${id}`;
}

/** A relative reference, possibly with a version. */
const LOCAL = /^([A-Z][A-Za-z]+\/[A-Za-z0-9\-.]{1,64})(\/_history\/[A-Za-z0-9\-.]{1,64})?$/;

/** The stored form of a reference: without this service's address and without a version. Others stay unchanged. */
export function storedReference(reference: string, baseUrl: string): string {
  const relative = reference.startsWith(`${baseUrl}/`) ? reference.slice(baseUrl.length + 1) : reference;
  return LOCAL.exec(relative)?.[1] ?? reference;
}

/**
 * Converts references to this service to their stored form, at any depth up to `DEEPEST`. They stay valid if the
 * service's address changes, and Medplum's searches find them.
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

/** The id in a stored reference `Type/id`; `undefined` for other types. */
export function idIn(reference: { readonly reference?: string } | undefined, type: ResourceType): string | undefined {
  const [found, id] = reference?.reference?.split('/') ?? [];
  return found === type ? id : undefined;
}

export const SERVICE_TYPE_REFERENCE = 'https://medplum.com/fhir/service-type-reference';

export function serviceIdOf({ extension = [] }: CodeableConcept): string | undefined {
  const reference = extension.find(({ url }) => url === SERVICE_TYPE_REFERENCE)?.valueReference?.reference;
  const [type, id] = reference?.split('/') ?? [];
  return type === 'HealthcareService' ? id : undefined;
}

export function withoutServiceReference({ extension = [], ...type }: CodeableConcept): CodeableConcept {
  const others = extension.filter(({ url }) => url !== SERVICE_TYPE_REFERENCE);
  return others.length > 0 ? { ...type, extension: others } : type;
}

/** The ids of a Schedule's services, each once: services that are its actors, and services in `serviceType`. */
export function serviceIdsOfSchedule(schedule: Schedule): string[] {
  const actors = schedule.actor.flatMap((actor) => idIn(actor, 'HealthcareService') ?? []);
  return [...new Set([...actors, ...serviceIdsOf(schedule)])];
}

/** The ids of the services in a `serviceType`, each once. */
export function serviceIdsOf({ serviceType = [] }: Pick<Schedule, 'serviceType'>): string[] {
  return [...new Set(serviceType.map(serviceIdOf).filter((id) => id !== undefined))];
}

/** Medplum's code for a Schedule of all services. */
const allServices = { system: 'https://medplum.com/fhir/CodeSystem/scheduling-service-type', code: 'all' } as const;

/** Whether a Schedule is for all services. */
export function servesAll({ serviceType = [] }: Pick<Schedule, 'serviceType'>): boolean {
  return serviceType.some(({ coding = [] }) =>
    coding.some(({ system, code }) => system === allServices.system && code === allServices.code),
  );
}

/** The `serviceType` of a published Slot: the service's codes with a reference, as in Medplum's `$find`. */
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

/**
 * Whether a Slot serves one of an appointment's services. A Slot without services serves all. An appointment without
 * codes fits every Slot of its own Schedule.
 */
export function servesService(
  types: readonly CodeableConcept[],
  offered: readonly CodeableConcept[],
  isSameSchedule: boolean,
): boolean {
  const wanted = types.filter(({ coding }) => coding);
  return wanted.length === 0 || servesAll({ serviceType: [...offered] })
    ? isSameSchedule || offered.length === 0
    : offered.length === 0 || wanted.some((type) => offered.some((concept) => isSameService(concept, type)));
}
