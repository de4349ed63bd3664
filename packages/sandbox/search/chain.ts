import {
  badRequest,
  type Filter,
  getSearchParameter,
  OperationOutcomeError,
  Operator,
  parseParameter,
  splitN,
} from '@medplum/core';
import type { SearchParameter } from '@medplum/fhirtypes';

/** One step of a chained search, from the searched resources towards the tested ones. */
export interface ChainLink {
  readonly direction: 'forward' | 'reverse';
  /** Type of the resources at the far end of the link. */
  readonly targetType: string;
  /** Type that has the reference. */
  readonly ownerType: string;
  readonly parameter: SearchParameter;
}

interface Chain {
  readonly links: readonly ChainLink[];
  readonly filter: Filter;
}

/** Whether a filter is a chained one: `schedule.actor`, `_has:…`. */
export function isChained(filter: Filter): boolean {
  return filter.code.startsWith('_has:') || filter.code.includes('.');
}

function splitChain(chain: string): string[] {
  const parts: string[] = [];
  for (let rest = chain; rest; ) {
    const isReverse = rest.startsWith('_has:');
    const typeEnd = rest.indexOf(':', 5);
    const end = isReverse ? rest.indexOf(':', typeEnd + 1) : rest.indexOf('.');
    if (isReverse && (typeEnd < 0 || end < 0)) {
      throw new Error(`Invalid search chain: ${rest}`);
    }
    parts.push(end < 0 ? rest : rest.slice(0, end));
    rest = end < 0 ? '' : rest.slice(end + 1);
  }
  return parts;
}

function reverseLink(part: string, type: string): ChainLink {
  const [, ownerType = '', code = ''] = splitN(part, ':', 3);
  const parameter = getSearchParameter(ownerType, code);
  if (!parameter) {
    throw new Error(`Invalid search parameter in chain: ${ownerType}?${code}`);
  }
  if (!parameter.target?.some((target) => target === type)) {
    throw new Error(`Invalid reverse chain link: search parameter ${ownerType}?${code} does not refer to ${type}`);
  }
  return { direction: 'reverse', targetType: ownerType, ownerType, parameter };
}

function forwardLink(part: string, type: string): ChainLink {
  const [code = '', modifier] = splitN(part, ':', 2);
  const parameter = getSearchParameter(type, code);
  if (!parameter) {
    throw new Error(`Invalid search parameter in chain: ${type}?${code}`);
  }
  const [first, ...others] = parameter.target ?? [];
  const targetType = others.length === 0 ? first : parameter.target?.find((target) => target === modifier);
  if (!targetType) {
    throw new Error(`Unable to identify next resource type for search parameter: ${type}?${code}`);
  }
  return { direction: 'forward', targetType, ownerType: type, parameter };
}

function endFilter(part: string, type: string, filter: Filter): Filter {
  const [code = '', modifier = ''] = splitN(part, ':', 2);
  if (code === '_filter') {
    return { code, operator: Operator.EQUALS, value: filter.value };
  }
  const parameter = getSearchParameter(type, code);
  if (!parameter) {
    throw new Error(`Invalid search parameter at end of chain: ${type}?${code}`);
  }
  return parseParameter(parameter, filter.operator, modifier, filter.value);
}

/**
 * Reads a chained filter, with Medplum's limits and its error messages.
 *
 * @throws Error or OperationOutcomeError that becomes a 400
 * @see https://hl7.org/fhir/R4/search.html#chaining
 */
export function parseChain(type: string, filter: Filter): Chain {
  const parts = splitChain(filter.code);
  const links: ChainLink[] = [];
  let current = type;
  for (const [index, part] of parts.entries()) {
    const isReverse = part.startsWith('_has');
    if (!isReverse && index === parts.length - 1) {
      if (links.length > 3) {
        throw new OperationOutcomeError(
          badRequest('Search chains longer than three links are not currently supported'),
        );
      }
      return { links, filter: endFilter(part, current, filter) };
    }
    const link = isReverse ? reverseLink(part, current) : forwardLink(part, current);
    links.push(link);
    current = link.targetType;
  }
  throw new OperationOutcomeError(badRequest('Unterminated chained search'));
}
