import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';

/** Whether a value is a JSON object, neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether a value claims to be a resource of this type. Nothing more is checked: the rules check the shape of what they
 * read, and Medplum checks the whole when it is written.
 */
export function isResource<T extends ResourceType>(value: unknown, type: T): value is ExtractResource<T> {
  return isObject(value) && value.resourceType === type;
}
