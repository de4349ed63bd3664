import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';

/** Whether a value is a JSON object, neither a list nor null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value claims to be a resource of this type; nothing more is checked. */
export const isResource = <T extends ResourceType>(value: unknown, type: T): value is ExtractResource<T> =>
  isObject(value) && value.resourceType === type;

/** Reads JSON; `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
