import { badRequest, getSearchParameter, OperationOutcomeError, type SortRule } from '@medplum/core';
import type { StoredResource } from '../storage/change.ts';
import { columnOf, tokenKey, valuesOf } from './parameter.ts';

type SortKey = string | number | undefined;

const tokenValue = tokenKey.value('');

function keyOf(type: string, rule: SortRule): (resource: StoredResource) => SortKey {
  if (rule.code === '_id') {
    return ({ id }) => id;
  }
  if (rule.code === '_lastUpdated') {
    return ({ meta }) => meta?.lastUpdated;
  }
  const parameter = getSearchParameter(type, rule.code);
  if (!parameter?.code) {
    throw new OperationOutcomeError(badRequest(`Unknown search parameter: ${rule.code}`));
  }
  const column = columnOf(type, parameter);
  return (resource) => {
    const values = valuesOf(resource, column);
    if (column.kind !== 'token') {
      return values[0];
    }
    const tokens = values.flatMap((v) => (typeof v === 'string' && v.startsWith(tokenValue) ? v : []));
    return tokens.sort()[0];
  };
}

/** Missing values come last in ascending order, as in PostgreSQL. */
function compare(left: SortKey, right: SortKey): number {
  if (left === right) {
    return 0;
  }
  if (left === undefined || right === undefined) {
    return left === undefined ? 1 : -1;
  }
  if (typeof left === 'number' && typeof right === 'number') {
    return left - right;
  }
  return String(left) < String(right) ? -1 : 1;
}

/**
 * Orders search results.
 *
 * @param rules - from `_sort`; without any, the most recently written comes last
 * @throws OperationOutcomeError (400) for an unknown parameter
 * @see https://hl7.org/fhir/R4/search.html#sort
 */
export function sorted(
  resources: StoredResource[],
  type: string,
  rules: readonly SortRule[] | undefined,
): StoredResource[] {
  const keys = (rules ?? []).map((rule) => ({ key: keyOf(type, rule), sign: rule.descending ? -1 : 1 }));
  if (keys.length === 0) {
    return resources;
  }
  return resources.toSorted((left, right) => {
    for (const { key, sign } of keys) {
      const order = compare(key(left), key(right));
      if (order !== 0) {
        return order * sign;
      }
    }
    return 0;
  });
}
