import type { Resource } from '@medplum/fhirtypes';

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

/**
 * A resource as Medplum stores it: without elements that are sent as null, or as an empty text, list or object, at any
 * depth. FHIR forbids them, but Medplum's own apps send them. Entries of lists keep their positions.
 */
export function withoutEmpty<T extends Resource>(resource: T): T {
  const text = JSON.stringify(resource, function (this: unknown, _name: string, value: unknown) {
    return !Array.isArray(this) && isEmpty(value) ? undefined : value;
  });
  return JSON.parse(text);
}
