import {
  badRequest,
  deriveIdentifierSearchParameter,
  FhirFilterComparison,
  FhirFilterConnective,
  type FhirFilterExpression,
  FhirFilterNegation,
  type Filter,
  getSearchParameter,
  invalidSearchOperator,
  isUUID,
  OperationOutcomeError,
  Operator,
  parseFilterParameter,
  splitSearchOnComma,
} from '@medplum/core';
import type { ResourceType } from '@medplum/fhirtypes';
import type { StoredResource, Write } from '../storage/change.ts';
import type { Lookup } from '../storage/store.ts';
import { type ChainLink, isChained, parseChain } from './chain.ts';
import { testOf, wantedValues } from './filter.ts';
import { type Column, columnOf, valuesOf } from './parameter.ts';

/** Whether a stored resource is one of those asked for. */
export type Predicate = (resource: StoredResource) => boolean;

/** What a search reads from. */
export interface SearchSource {
  find(type: ResourceType, id: string): Write | undefined;
  /** @param lookups - if given, resources that satisfy not all of these may be left out */
  newest(type: ResourceType, lookups?: readonly Lookup[]): Iterable<Write>;
  /** Refuses a search that passes through a type which the caller may not search; 403. */
  assertSearchable(type: string): asserts type is ResourceType;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** The ids of an `_id`-like filter: a type before the id is dropped, and what is no UUID matches nothing. */
export function idsOf(filter: Filter): string[] {
  if (filter.operator === Operator.IN || filter.operator === Operator.NOT_IN) {
    throw new OperationOutcomeError(invalidSearchOperator(filter.operator, filter.code));
  }
  return splitSearchOnComma(filter.value).map((value) => {
    const id = value.slice(value.lastIndexOf('/') + 1);
    return isUUID(id) ? id : nobody;
  });
}

function isNegated(filter: Filter): boolean {
  return filter.operator === Operator.NOT || filter.operator === Operator.NOT_EQUALS;
}

function idPredicate(filter: Filter, idOf: (resource: StoredResource) => readonly (string | undefined)[]): Predicate {
  const ids = new Set<string | undefined>(idsOf(filter));
  return (resource) => idOf(resource).some((id) => ids.has(id)) !== isNegated(filter);
}

const special: Partial<Record<string, (filter: Filter) => Predicate>> = {
  _id: (filter) => idPredicate(filter, ({ id }) => [id]),
  _project: (filter) => {
    if (filter.operator === Operator.MISSING || filter.operator === Operator.PRESENT) {
      const wanted = (filter.operator === Operator.PRESENT) === (filter.value === 'true');
      return ({ meta }) => Boolean(meta?.project) === wanted;
    }
    return idPredicate(filter, ({ meta }) => [meta?.project]);
  },
  _compartment: (filter) =>
    idPredicate(filter, ({ meta }) => (meta?.compartment ?? []).map(({ reference }) => reference?.split('/').at(-1))),
  // Deleted resources are left out before any filter is asked.
  _deleted: (filter) => () => (filter.value === 'true') === isNegated(filter),
};

function expressionPredicate(source: SearchSource, type: ResourceType, expression: FhirFilterExpression): Predicate {
  if (expression instanceof FhirFilterNegation) {
    const inner = expressionPredicate(source, type, expression.child);
    return (resource) => !inner(resource);
  }
  if (expression instanceof FhirFilterConnective) {
    const left = expressionPredicate(source, type, expression.left);
    const right = expressionPredicate(source, type, expression.right);
    return expression.keyword === 'and'
      ? (resource) => left(resource) && right(resource)
      : (resource) => left(resource) || right(resource);
  }
  if (expression instanceof FhirFilterComparison) {
    const { path, operator, value } = expression;
    return filterPredicate(source, type, { code: path, operator, value });
  }
  throw new OperationOutcomeError(badRequest('Unknown filter expression type'));
}

/** A filter on a search parameter of the type itself, with what it compares. */
function plainFilter(type: ResourceType, filter: Filter): { readonly filter: Filter; readonly column: Column } {
  const found = getSearchParameter(type, filter.code);
  if (!found?.code) {
    throw new OperationOutcomeError(badRequest(`Unknown search parameter: ${filter.code}`));
  }
  return filter.operator === Operator.IDENTIFIER
    ? {
        filter: { ...filter, operator: Operator.EQUALS },
        column: columnOf(type, deriveIdentifierSearchParameter(found)),
      }
    : { filter, column: columnOf(type, found) };
}

function plainPredicate(type: ResourceType, given: Filter): Predicate {
  const { filter, column } = plainFilter(type, given);
  const test = testOf(filter, column);
  return (resource) => test(valuesOf(resource, column));
}

const lookupIn = (column: Column, wanted: Lookup['wanted']): Lookup => ({
  name: column.code,
  valuesOf: (resource) => valuesOf(resource, column),
  wanted,
});

/** Those of the filters that a resource is found by without looking at all others. */
export function lookupsOf(type: ResourceType, filters: readonly Filter[]): Lookup[] {
  return filters
    .filter((filter) => !isChained(filter) && filter.code !== '_filter' && !special[filter.code])
    .flatMap((given) => {
      const { filter, column } = plainFilter(type, given);
      const wanted = wantedValues(filter, column);
      return wanted ? [lookupIn(column, wanted)] : [];
    });
}

function urlOf(resource: StoredResource): string[] {
  return 'url' in resource && typeof resource.url === 'string' ? [resource.url] : [];
}

/** By what a reference names a resource: its URL where references are canonical, else type and id. */
function namesOf(resource: StoredResource, isCanonical: boolean): string[] {
  return isCanonical ? urlOf(resource) : [`${resource.resourceType}/${resource.id}`];
}

/** A single pass over the target resources of a link gives the set of matching source resources. */
function forwardPredicate(source: SearchSource, target: ResourceType, column: Column, atEnd: Predicate): Predicate {
  const names = new Set<string | number>();
  for (const { resource } of source.newest(target)) {
    if (resource && atEnd(resource)) {
      for (const name of namesOf(resource, column.isCanonical)) {
        names.add(name);
      }
    }
  }
  return (resource) => valuesOf(resource, column).some((name) => names.has(name));
}

/** Whether one of the resources that refer to a resource is as asked for. */
function reversePredicate(source: SearchSource, target: ResourceType, column: Column, atEnd: Predicate): Predicate {
  return (resource) => {
    const names = namesOf(resource, column.isCanonical);
    for (const { resource: far } of source.newest(target, [lookupIn(column, names)])) {
      if (far && valuesOf(far, column).some((name) => names.includes(String(name))) && atEnd(far)) {
        return true;
      }
    }
    return false;
  };
}

function linkPredicate(
  source: SearchSource,
  { targetType, ownerType, parameter, direction }: ChainLink,
  atEnd: Predicate,
): Predicate {
  source.assertSearchable(targetType);
  const predicate = direction === 'forward' ? forwardPredicate : reversePredicate;
  return predicate(source, targetType, columnOf(ownerType, parameter), atEnd);
}

function chainPredicate(source: SearchSource, type: ResourceType, filter: Filter): Predicate {
  const chain = parseChain(type, filter);
  const [only, ...others] = chain.links;
  if (only?.direction === 'forward' && others.length === 0 && chain.filter.code === '_id') {
    const value = `${only.targetType}/${chain.filter.value}`;
    return plainPredicate(type, { code: only.parameter.code, operator: chain.filter.operator, value });
  }
  const last = chain.links.at(-1);
  const endType = last?.targetType ?? type;
  source.assertSearchable(endType);
  const atEnd = filterPredicate(source, endType, chain.filter);
  return chain.links.reduceRight<Predicate>((predicate, link) => linkPredicate(source, link, predicate), atEnd);
}

function filterPredicate(source: SearchSource, type: ResourceType, filter: Filter): Predicate {
  if (filter.value.includes('\0')) {
    throw new OperationOutcomeError(badRequest('Search filter value cannot contain null bytes'));
  }
  if (isChained(filter)) {
    return chainPredicate(source, type, filter);
  }
  if (filter.code === '_filter') {
    return expressionPredicate(source, type, parseFilterParameter(filter.value));
  }
  return special[filter.code]?.(filter) ?? plainPredicate(type, filter);
}

/**
 * The predicate that all filters of a search make together.
 *
 * @param source - where chained filters look things up
 * @param type - resource type that is searched
 * @throws OperationOutcomeError or Error for what Medplum refuses with 400, and for a type in a chain with 403
 */
export function predicateOf(source: SearchSource, type: ResourceType, filters: readonly Filter[]): Predicate {
  const predicates = filters.map((filter) => filterPredicate(source, type, filter));
  return (resource) => predicates.every((predicate) => predicate(resource));
}
