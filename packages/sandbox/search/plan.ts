import { type Filter, Operator } from '@medplum/core';
import type { ResourceType } from '@medplum/fhirtypes';
import { type ChainLink, isChained, parseChain } from './chain.ts';
import { wantedValues } from './filter.ts';
import { idsNamed, lookupIn, namesOf } from './names.ts';
import { columnOf, valuesOf } from './parameter.ts';
import { idsOf, plainFilter, special } from './predicate.ts';
import type { SearchSource } from './source.ts';

interface Way {
  /** An upper bound on the number of resources to read first. */
  readonly most: number;
  /** The ids of all resources that satisfy the filter, and perhaps of others. */
  readonly ids: () => Set<string>;
}

function plainWay(source: SearchSource, type: ResourceType, given: Filter): Way | undefined {
  if (given.code === '_id' && given.operator === Operator.EQUALS) {
    const ids = new Set(idsOf(given));
    return { most: ids.size, ids: () => ids };
  }
  if (given.code === '_filter' || special[given.code]) {
    return undefined;
  }
  const { filter, column } = plainFilter(type, given);
  const wanted = wantedValues(filter, column);
  const lookup = wanted && lookupIn(column, wanted);
  return lookup && { most: source.mostIds(type, lookup), ids: () => source.ids(type, lookup) };
}

/** Follows a link from its far end to its near end. */
function nearIds(
  source: SearchSource,
  near: ResourceType,
  { targetType, ownerType, parameter, direction }: ChainLink,
  far: ReadonlySet<string>,
): Set<string> {
  source.assertSearchable(targetType);
  const column = columnOf(ownerType, parameter);
  const found = [...source.newest(targetType, far)].flatMap(({ resource }) => resource ?? []);
  if (direction === 'forward') {
    const names = found.flatMap((resource) => namesOf(resource, column.isCanonical));
    return source.ids(near, lookupIn(column, names));
  }
  const names = found.flatMap((resource) => valuesOf(resource, column).map(String));
  return idsNamed(source, near, names, column.isCanonical);
}

function chainedWay(source: SearchSource, type: ResourceType, given: Filter): Way | undefined {
  const { links, filter } = parseChain(type, given);
  const types: ResourceType[] = [type];
  for (const { targetType } of links) {
    source.assertSearchable(targetType);
    types.push(targetType);
  }
  const end = plainWay(source, types.at(-1) ?? type, filter);
  return (
    end && {
      most: end.most,
      ids: () => links.reduceRight((far, link, at) => nearIds(source, types[at] ?? type, link, far), end.ids()),
    }
  );
}

/**
 * The ids of the resources to test against all filters: the candidates of the most selective filter.
 *
 * @returns `undefined` if all resources of the type have to be tested
 * @throws as `predicateOf`
 */
export function idsToTry(
  source: SearchSource,
  type: ResourceType,
  filters: readonly Filter[],
): ReadonlySet<string> | undefined {
  const ways = filters.map((filter) => (isChained(filter) ? chainedWay : plainWay)(source, type, filter));
  const [first] = ways.flatMap((way) => way ?? []).sort((way, other) => way.most - other.most);
  return first?.ids();
}
