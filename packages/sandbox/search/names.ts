import type { ResourceType } from '@medplum/fhirtypes';
import type { StoredResource } from '../storage/change.ts';
import type { ValueIndex } from '../storage/store.ts';
import { type Column, valuesOf } from './parameter.ts';
import type { SearchSource } from './source.ts';

/** Finds the resources with one of these values of a search parameter. */
export const lookupIn = (column: Column, wanted: ValueIndex['wanted']): ValueIndex => ({
  name: column.code,
  valuesOf: (resource) => valuesOf(resource, column),
  wanted,
});

function urlOf(resource: StoredResource): string[] {
  return 'url' in resource && typeof resource.url === 'string' ? [resource.url] : [];
}

/** The names of a resource in references: its URL if references are canonical, otherwise type and id. */
export function namesOf(resource: StoredResource, isCanonical: boolean): string[] {
  return isCanonical ? urlOf(resource) : [`${resource.resourceType}/${resource.id}`];
}

/** The ids of the resources of a type that have, or once had, one of these names; see {@link namesOf}. */
export function idsNamed(
  source: SearchSource,
  type: ResourceType,
  names: readonly string[],
  isCanonical: boolean,
): Set<string> {
  if (isCanonical) {
    return source.ids(type, { name: 'URL of the resource', valuesOf: urlOf, wanted: names });
  }
  const start = `${type}/`;
  return new Set(names.flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : [])));
}
