import type { BundleEntry, ExtractResource, HumanName, Resource, ResourceType } from '@medplum/fhirtypes';

/** JSON with sorted names in each object, so that equal values result in equal strings. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Whether two JSON values are equal, in any order of an object's names. */
export const isSameJson = (one: unknown, other: unknown): boolean => canonicalJson(one) === canonicalJson(other);

/** Reads JSON; `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is a JSON object, not a list or null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value has the `resourceType`; its elements are not checked. */
export function isResource<T extends ResourceType>(value: unknown, type: T): value is ExtractResource<T> {
  return isObject(value) && value.resourceType === type;
}

/** The parameters of Parameters with unchecked content: every caller of a Bot can send anything. */
export function parametersIn(value: unknown): Readonly<Record<string, unknown>>[] {
  const parameter: unknown = isResource(value, 'Parameters') ? value.parameter : undefined;
  return Array.isArray(parameter) ? parameter.filter(isObject) : [];
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

/**
 * A resource as Medplum stores it: without elements that are null or an empty text, list or object, at any depth. FHIR
 * forbids them, but Medplum's own apps send them. Entries of lists keep their positions.
 */
export function withoutEmpty<T extends Resource>(resource: T): T {
  const text = JSON.stringify(resource, function (this: unknown, _name: string, value: unknown) {
    return !Array.isArray(this) && isEmpty(value) ? undefined : value;
  });
  return JSON.parse(text);
}

/**
 * A transaction entry that changes a stored resource, if it still has the version that was read. It uses the id of
 * `stored`.
 * @see https://hl7.org/fhir/R4/http.html#concurrency
 */
export function updateEntry<T extends Resource>(stored: T, changed: T): BundleEntry {
  const { resourceType, id, meta } = stored;
  return {
    request: { method: 'PUT', url: `${resourceType}/${id}`, ifMatch: `W/"${meta?.versionId}"` },
    resource: changed,
  };
}

/** Whether two tokens are equal. Medplum ignores their letter case. */
export function isSameToken(one: string | undefined, other: string | undefined): boolean {
  return one?.toLowerCase() === other?.toLowerCase();
}

function nameText(name: HumanName | undefined): string {
  if (!name || typeof name !== 'object') {
    return '';
  }
  const parts = [name.prefix, name.given, name.family, name.suffix].flat();
  return name.text || parts.filter((part) => typeof part === 'string' && part).join(' ');
}

/** The official name of a person, else the first one; empty without a name. */
export function nameOf({ name }: { readonly name?: HumanName[] }): string {
  const names = Array.isArray(name) ? name : [];
  return nameText(names.find((one) => one?.use === 'official') ?? names[0]);
}
