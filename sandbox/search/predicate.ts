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
import { type ChainLink, isChained, parseChain } from './chain.ts';
import { testOf } from './filter.ts';
import { columnOf, valuesOf } from './parameter.ts';

/** Whether a stored resource is one of those asked for. */
export type Predicate = (resource: StoredResource) => boolean;

/** What a search reads from. */
export interface SearchSource {
  find(type: ResourceType, id: string): Write | undefined;
  newest(type: ResourceType): Iterable<Write>;
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

function plainPredicate(type: ResourceType, filter: Filter): Predicate {
  const found = getSearchParameter(type, filter.code);
  if (!found?.code) {
    throw new OperationOutcomeError(badRequest(`Unknown search parameter: ${filter.code}`));
  }
  const byIdentifier = filter.operator === Operator.IDENTIFIER;
  const column = columnOf(type, byIdentifier ? deriveIdentifierSearchParameter(found) : found);
  const test = testOf(byIdentifier ? { ...filter, operator: Operator.EQUALS } : filter, column);
  return (resource) => test(valuesOf(resource, column));
}

function urlOf(resource: StoredResource): string[] {
  return 'url' in resource && typeof resource.url === 'string' ? [resource.url] : [];
}

/** By what a reference names a resource: its URL where references are canonical, else type and id. */
function namesOf(resource: StoredResource, isCanonical: boolean): string[] {
  return isCanonical ? urlOf(resource) : [`${resource.resourceType}/${resource.id}`];
}

/** A single pass over the target resources of a link gives the set of matching source resources. */
function linkPredicate(source: SearchSource, link: ChainLink, atEnd: Predicate): Predicate {
  const { targetType } = link;
  source.assertSearchable(targetType);
  const column = columnOf(link.ownerType, link.parameter);
  const names = new Set<string | number>();
  for (const { resource } of source.newest(targetType)) {
    if (resource && atEnd(resource)) {
      const far = link.direction === 'forward' ? namesOf(resource, column.isCanonical) : valuesOf(resource, column);
      for (const name of far) {
        names.add(name);
      }
    }
  }
  return (resource) => {
    const near = link.direction === 'forward' ? valuesOf(resource, column) : namesOf(resource, column.isCanonical);
    return near.some((name) => names.has(name));
  };
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
