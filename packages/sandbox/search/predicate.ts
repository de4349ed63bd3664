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
import type { StoredResource } from '../storage/change.ts';
import { type ChainLink, isChained, parseChain } from './chain.ts';
import { testOf } from './filter.ts';
import { idsNamed, lookupIn, namesOf } from './names.ts';
import { type Column, columnOf, valuesOf } from './parameter.ts';
import type { SearchSource } from './source.ts';

/** Whether a stored resource matches a search. */
export type Predicate = (resource: StoredResource) => boolean;

const nobody = '00000000-0000-0000-0000-000000000000';

/** The ids of an `_id`-like filter. A type before the id is dropped, and a value that is not a UUID matches nothing. */
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

/** Whether a row stands for a deleted resource. */
export const isDeleted = ({ meta }: StoredResource): boolean => meta?.deleted === true;

function idPredicate(filter: Filter, idOf: (resource: StoredResource) => readonly (string | undefined)[]): Predicate {
  const ids = new Set<string | undefined>(idsOf(filter));
  return (resource) => idOf(resource).some((id) => ids.has(id)) !== isNegated(filter);
}

/** Filters that do not use a search parameter. */
export const special: Partial<Record<string, (filter: Filter) => Predicate>> = {
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
  _deleted: (filter) => (resource) => isDeleted(resource) === ((filter.value === 'true') !== isNegated(filter)),
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

/** The column of a filter on a search parameter of the type itself. */
export function plainFilter(type: ResourceType, filter: Filter): { readonly filter: Filter; readonly column: Column } {
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

/** Whether the target of a reference satisfies a condition. Each target is tested once. */
function forwardPredicate(source: SearchSource, target: ResourceType, column: Column, atEnd: Predicate): Predicate {
  const known = new Map<string, boolean>();
  const isAsAsked = (name: string): boolean => {
    const isKnown = known.get(name);
    if (isKnown !== undefined) {
      return isKnown;
    }
    const found = [...source.newest(target, idsNamed(source, target, [name], column.isCanonical))];
    const is = found.some(
      ({ resource }) => resource && atEnd(resource) && namesOf(resource, column.isCanonical).includes(name),
    );
    known.set(name, is);
    return is;
  };
  return (resource) => valuesOf(resource, column).some((name) => isAsAsked(String(name)));
}

/** Whether a resource that refers to this one satisfies a condition. */
function reversePredicate(source: SearchSource, target: ResourceType, column: Column, atEnd: Predicate): Predicate {
  return (resource) => {
    const names = namesOf(resource, column.isCanonical);
    for (const { resource: far } of source.newest(target, source.ids(target, lookupIn(column, names)))) {
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
 * The predicate that combines all filters of a search.
 *
 * @param source - finds the resources of chained filters
 * @throws OperationOutcomeError or Error: 400 where Medplum refuses a filter, 403 for a type in a chain
 */
export function predicateOf(source: SearchSource, type: ResourceType, filters: readonly Filter[]): Predicate {
  const predicates = filters.map((filter) => filterPredicate(source, type, filter));
  return (resource) => predicates.every((predicate) => predicate(resource));
}
