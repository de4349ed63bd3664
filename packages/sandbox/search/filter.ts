import {
  badRequest,
  type Filter,
  invalidSearchOperator,
  isUUID,
  OperationOutcomeError,
  Operator,
  splitN,
  splitSearchOnComma,
} from '@medplum/core';
import { type Column, type ColumnKind, type ColumnValues, tokenKey } from './parameter.ts';

type ValuesTest = (values: ColumnValues) => boolean;

const negations = new Set<string>([Operator.NOT, Operator.NOT_EQUALS]);

function refuse(filter: Filter, name: string): never {
  throw new OperationOutcomeError(invalidSearchOperator(filter.operator, name));
}

function hasAny(wanted: readonly string[]): ValuesTest {
  const set = new Set<string | number>(wanted);
  return (values) => values.some((value) => set.has(value));
}

function tokenQuery(query: string): string {
  if (!query.includes('|')) {
    return tokenKey.value(query);
  }
  const [system = '', value = ''] = splitN(query, '|', 2);
  if (!system) {
    return tokenKey.withoutSystem(value);
  }
  return value ? tokenKey.both(system, value) : tokenKey.system(system);
}

const tokenOperators = new Set<string>([Operator.EQUALS, Operator.EXACT, Operator.NOT, Operator.NOT_EQUALS]);

const tokenQueries = ({ value }: Filter): string[] => splitSearchOnComma(value).map((query) => query.trim());

function tokenTest(filter: Filter, column: Column): ValuesTest {
  const queries = tokenQueries(filter);
  if (filter.operator === Operator.TEXT || filter.operator === Operator.CONTAINS) {
    const prefix = tokenKey.text('');
    const wanted = queries.map((query) => query.toLowerCase());
    return (values) =>
      values.some(
        (value) =>
          typeof value === 'string' &&
          value.startsWith(prefix) &&
          wanted.some((text) => value.slice(prefix.length).toLowerCase().includes(text)),
      );
  }
  return tokenOperators.has(filter.operator) ? hasAny(queries.map(tokenQuery)) : refuse(filter, column.label);
}

function booleanTest(filter: Filter): ValuesTest {
  if (filter.value !== 'true' && filter.value !== 'false') {
    throw new OperationOutcomeError(badRequest(`Boolean search value must be 'true' or 'false'`));
  }
  return hasAny([filter.value]);
}

/** A value without a type gets one where Medplum adds it, and is compared unchanged elsewhere. */
function references(filter: Filter, column: Column): string[] {
  return splitSearchOnComma(filter.value).map((value) => {
    if (value.includes('/')) {
      return value;
    }
    if (column.targetType && isUUID(value)) {
      return `${column.targetType}/${value}`;
    }
    return column.code === 'subject' || column.code === 'patient' ? `Patient/${value}` : value;
  });
}

type Compare = (value: number, wanted: number) => boolean;

const comparisons: Partial<Record<Operator, Compare>> = {
  [Operator.EQUALS]: (value, wanted) => value === wanted,
  [Operator.EXACT]: (value, wanted) => value === wanted,
  [Operator.NOT]: (value, wanted) => value !== wanted,
  [Operator.NOT_EQUALS]: (value, wanted) => value !== wanted,
  [Operator.GREATER_THAN]: (value, wanted) => value > wanted,
  [Operator.STARTS_AFTER]: (value, wanted) => value > wanted,
  [Operator.GREATER_THAN_OR_EQUALS]: (value, wanted) => value >= wanted,
  [Operator.LESS_THAN]: (value, wanted) => value < wanted,
  [Operator.ENDS_BEFORE]: (value, wanted) => value < wanted,
  [Operator.LESS_THAN_OR_EQUALS]: (value, wanted) => value <= wanted,
};

function comparison(filter: Filter, wanted: number): ValuesTest {
  const compare = comparisons[filter.operator];
  if (!compare) {
    throw new Error(`Unknown FHIR operator: ${filter.operator}`);
  }
  return (values) => values.some((value) => typeof value === 'number' && compare(value, wanted));
}

const dateForm =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(Z|[+-]((0\d|1[0-3]):[0-5]\d|14:00))?)?$/;
const offset = /(Z|[+-]\d\d:\d\d)$/;

/** Medplum compares with the start only. It reads a day as its midnight, and a time without an offset as UTC. */
function dateTest(filter: Filter): ValuesTest {
  const hasTime = filter.value.length > 10;
  const time = Date.parse(hasTime && !offset.test(filter.value) ? `${filter.value}Z` : filter.value);
  if (!dateForm.test(filter.value) || Number.isNaN(time)) {
    const problem = hasTime ? 'Invalid format for date search parameter' : 'Invalid date value';
    throw new OperationOutcomeError(badRequest(`${problem}: ${filter.value}`));
  }
  return comparison(filter, time);
}

function quantityTest(filter: Filter): ValuesTest {
  const [number] = splitN(filter.value, '|', 3);
  if (!number) {
    throw new OperationOutcomeError(badRequest(`Invalid quantity value: ${filter.value}`));
  }
  return comparison(filter, Number(number));
}

function stringTest(filter: Filter): ValuesTest {
  const wanted = splitSearchOnComma(filter.value);
  const lower = wanted.map((value) => value.toLowerCase());
  switch (filter.operator) {
    case Operator.EXACT:
      return hasAny(wanted);
    case Operator.CONTAINS:
      return (values) => values.some((value) => lower.some((part) => String(value).toLowerCase().includes(part)));
    case Operator.EQUALS:
    case Operator.STARTS_WITH:
      return (values) => values.some((value) => lower.some((part) => String(value).toLowerCase().startsWith(part)));
    default:
      throw new OperationOutcomeError(badRequest(`Unsupported string search operator: ${filter.operator}`));
  }
}

function words(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** Names and addresses: every searched word must begin a word of the value. */
function wordsTest(filter: Filter): ValuesTest {
  if (filter.operator === Operator.EXACT || filter.operator === Operator.CONTAINS) {
    return stringTest(filter);
  }
  const options = splitSearchOnComma(filter.value).map(words);
  return (values) =>
    values.some((value) => {
      const present = words(String(value));
      return options.some((option) => option.every((word) => present.some((other) => other.startsWith(word))));
    });
}

const tests: Record<ColumnKind, (filter: Filter, column: Column) => ValuesTest> = {
  token: tokenTest,
  code: (filter) => hasAny(splitSearchOnComma(filter.value)),
  boolean: booleanTest,
  reference: (filter, column) => hasAny(references(filter, column)),
  date: dateTest,
  string: stringTest,
  words: wordsTest,
  uri: (filter) => hasAny(splitSearchOnComma(filter.value)),
  number: (filter) => comparison(filter, Number(filter.value)),
  quantity: quantityTest,
};

const withoutSets = new Set<ColumnKind>(['reference', 'date', 'boolean', 'words']);
/**
 * SQL compares nothing with NULL: a missing single value of these kinds does not satisfy a negated condition. The same
 * holds for a code that must not be in a list (NOT IN).
 */
const nullIsNeverUnequal = new Set<ColumnKind>(['reference', 'date', 'number', 'quantity']);
const comparesItself = new Set<ColumnKind>(['date', 'number', 'quantity']);

/**
 * The test of a filter on a search parameter, with the result of Medplum's SQL.
 *
 * @throws OperationOutcomeError (400) for a modifier or value that Medplum refuses
 * @see https://hl7.org/fhir/R4/search.html#ptypes
 */
export function testOf(filter: Filter, column: Column): ValuesTest {
  if (filter.operator === Operator.MISSING || filter.operator === Operator.PRESENT) {
    const wantsValues = (filter.operator === Operator.PRESENT) === (filter.value === 'true');
    return (values) => values.length > 0 === wantsValues;
  }
  const isSet = filter.operator === Operator.IN || filter.operator === Operator.NOT_IN;
  if (isSet && withoutSets.has(column.kind)) {
    refuse(filter, filter.code);
  }
  const test = tests[column.kind](filter, column);
  if (!negations.has(filter.operator) || comparesItself.has(column.kind)) {
    return test;
  }
  const isList = column.kind === 'code' && splitSearchOnComma(filter.value).length > 1;
  const needsValue = (isList || nullIsNeverUnequal.has(column.kind)) && !column.isArray;
  return (values) => !test(values) && !(needsValue && values.length === 0);
}

/**
 * The values that satisfy a filter: a matching resource has at least one of them.
 *
 * @returns `undefined` if the filter has no such values
 */
export function wantedValues(filter: Filter, column: Column): readonly string[] | undefined {
  if (filter.operator !== Operator.EQUALS) {
    return undefined;
  }
  if (column.kind === 'reference') {
    return references(filter, column);
  }
  if (column.kind === 'code' || column.kind === 'uri') {
    return splitSearchOnComma(filter.value);
  }
  return column.kind === 'token' ? tokenQueries(filter).map(tokenQuery) : undefined;
}
