import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';

/** Whether a value is a JSON object, not an array or null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value has this `resourceType`. Its elements are not validated. */
export const isResource = <T extends ResourceType>(value: unknown, type: T): value is ExtractResource<T> =>
  isObject(value) && value.resourceType === type;

/** Parses JSON; `undefined` if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
