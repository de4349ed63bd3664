import {
  convertToSearchableDates,
  convertToSearchableNumbers,
  convertToSearchableQuantities,
  convertToSearchableReferences,
  convertToSearchableStrings,
  convertToSearchableTokens,
  convertToSearchableUris,
  evalFhirPathTyped,
  getSearchParameterDetails,
  type SearchParameterDetails,
  SearchParameterType,
  type TypedValue,
  toTypedValue,
} from '@medplum/core';
import type { Resource, SearchParameter } from '@medplum/fhirtypes';

/** The form in which Medplum stores the values of a search parameter. It decides how they compare. */
export type ColumnKind =
  | 'token'
  | 'code'
  | 'boolean'
  | 'reference'
  | 'date'
  | 'string'
  | 'words'
  | 'uri'
  | 'number'
  | 'quantity';

/** A search parameter of a resource type, ready to be evaluated. */
export interface Column {
  readonly code: string;
  /** The name of the parameter in Medplum's errors. */
  readonly label: string;
  readonly kind: ColumnKind;
  readonly isArray: boolean;
  readonly isCanonical: boolean;
  readonly details: SearchParameterDetails;
  /** The target type of the reference, if only one is allowed. */
  readonly targetType?: string;
}

/** The separator of tokens is a character that no system or code may contain. */
const separator = '\u0001';
const tokenTypes = new Set(['Identifier', 'CodeableConcept', 'Coding', 'ContactPoint']);
const nameCodes = new Set(['name', 'given', 'family', 'phonetic']);
const namedTypes = new Set(['Patient', 'Person', 'Practitioner', 'RelatedPerson']);
const textSystem = 'text';

function elementTypes(details: SearchParameterDetails): string[] {
  return (details.elementDefinitions ?? []).flatMap(({ type }) => (type ?? []).map(({ code }) => code));
}

function kindOf(resourceType: string, parameter: SearchParameter, details: SearchParameterDetails): ColumnKind {
  switch (parameter.type) {
    case 'token': {
      const isToken = parameter.code.endsWith(':identifier') || elementTypes(details).some((t) => tokenTypes.has(t));
      return isToken ? 'token' : details.type === SearchParameterType.BOOLEAN ? 'boolean' : 'code';
    }
    case 'string': {
      const isName = nameCodes.has(parameter.code) && namedTypes.has(resourceType);
      return isName || parameter.code.startsWith('address') ? 'words' : 'string';
    }
    case 'reference':
    case 'date':
    case 'uri':
    case 'number':
    case 'quantity':
      return parameter.type;
    default:
      throw new Error(`Unrecognized search parameter type: ${parameter.type}`);
  }
}

const columns = new WeakMap<SearchParameter, Map<string, Column>>();

/**
 * The evaluation of a search parameter on a resource type.
 *
 * @throws Error for composite and special parameters, which Medplum does not index
 */
export function columnOf(resourceType: string, parameter: SearchParameter): Column {
  const known = columns.get(parameter) ?? new Map<string, Column>();
  columns.set(parameter, known);
  let column = known.get(resourceType);
  if (!column) {
    const details = getSearchParameterDetails(resourceType, parameter);
    const targets = details.referenceTargetTypes;
    column = {
      code: parameter.code,
      label: parameter.id ?? parameter.code,
      kind: kindOf(resourceType, parameter, details),
      isArray: Boolean(details.array),
      isCanonical: details.type === SearchParameterType.CANONICAL,
      details,
      ...(targets?.length === 1 && details.type !== SearchParameterType.CANONICAL && { targetType: targets[0] }),
    };
    known.set(resourceType, column);
  }
  return column;
}

/** Index keys of a token: `system|`, `system|value`, `value` and `|value` are four different keys. */
export const tokenKey = {
  system: (system: string) => `s${separator}${system}`,
  both: (system: string, value: string) => `b${separator}${system}${separator}${value}`,
  value: (value: string) => `v${separator}${value}`,
  withoutSystem: (value: string) => `n${separator}${value}`,
  text: (value: string) => `t${separator}${value}`,
};

function tokenKeys(values: TypedValue[]): string[] {
  const keys = new Set<string>();
  // Telephone numbers and addresses are the values whose text Medplum searches, too.
  const isReach = values.some(({ type }) => type === 'ContactPoint');
  for (const { system, value } of convertToSearchableTokens(values, { textSearchSystem: textSystem })) {
    if (system && system !== textSystem) {
      keys.add(tokenKey.system(system));
      if (value) {
        keys.add(tokenKey.both(system, value));
      }
    }
    if (value) {
      keys.add(tokenKey.value(value));
      if (isReach || system === textSystem) {
        keys.add(tokenKey.text(value));
      }
      if (!system) {
        keys.add(tokenKey.withoutSystem(value));
      }
    }
  }
  return [...keys];
}

function dateTimes(values: TypedValue[], details: SearchParameterDetails): number[] {
  return convertToSearchableDates(values).flatMap((period) => {
    const value = period.start ?? period.end;
    const time = Date.parse(details.type === SearchParameterType.DATE && value ? value.slice(0, 10) : (value ?? ''));
    return Number.isNaN(time) ? [] : [time];
  });
}

/** Values of a resource for a search parameter: strings, or numbers for dates (milliseconds), numbers, quantities. */
export type ColumnValues = readonly string[] | readonly number[];

const extractors: Record<ColumnKind, (values: TypedValue[], details: SearchParameterDetails) => ColumnValues> = {
  token: tokenKeys,
  code: (values) => convertToSearchableTokens(values).flatMap(({ value }) => (value ? [value] : [])),
  boolean: (values) => values.slice(0, 1).map(({ value }) => String(value === true || value === 'true')),
  reference: convertToSearchableReferences,
  date: dateTimes,
  string: convertToSearchableStrings,
  words: convertToSearchableStrings,
  uri: convertToSearchableUris,
  number: (values) => convertToSearchableNumbers(values).flatMap(([low, high]) => low ?? high ?? []),
  quantity: (values) => convertToSearchableQuantities(values).flatMap(({ value }) => value ?? []),
};

const cached = new WeakMap<Resource, Map<string, ColumnValues>>();

/**
 * The values of a stored resource for a search parameter, computed once per version.
 *
 * @param resource - must never change afterwards
 */
export function valuesOf(resource: Resource, column: Column): ColumnValues {
  const known = cached.get(resource) ?? new Map<string, ColumnValues>();
  cached.set(resource, known);
  let values = known.get(column.code);
  if (!values) {
    const typed = evalFhirPathTyped(column.details.parsedExpression, [toTypedValue(resource)]);
    values = extractors[column.kind](typed, column.details);
    known.set(column.code, values);
  }
  return values;
}
