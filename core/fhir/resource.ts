import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';

/** Whether a value is a JSON object, neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether a value says of itself that it is a resource of this type. Nothing more is checked: what the rules read of
 * it is checked by its shape, and the whole of it by Medplum when it is written.
 */
export function isResource<T extends ResourceType>(value: unknown, type: T): value is ExtractResource<T> {
  return isObject(value) && value.resourceType === type;
}
