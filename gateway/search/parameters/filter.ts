import type { ResourceType } from '@medplum/fhirtypes';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { formatReference, isId, parseReference } from '../../../core/fhir/reference.ts';
import { type ServedTypeName, servedTypeNames } from '../../served-types.ts';
import { isIssue, type SearchParam, searchIssue } from './param.ts';
import { modifiersOf, type SearchParameterEntry, searchParameter, searchParameters } from './parameters.ts';
import { rewriteString, splitAlternatives } from './strings.ts';

/**
 * Writes codes the way Medplum finds them in elements that hold only a code: without the code system, which FHIR fixes
 * for such an element. A code of another system stays unchanged; no element has it.
 *
 * @param sent - one parameter, with codes separated by commas, `code` or `system|code`
 * @returns the value for Medplum, or the issue if a system has no code
 * @see https://hl7.org/fhir/R4/search.html#token
 */
function rewriteCodes({ name, value }: SearchParam, codeSystem: string): string | Issue {
  const codes = value.split(',').map((one) => {
    const system = [`${codeSystem}|`, '|'].find((start) => one.startsWith(start));
    return system ? one.slice(system.length) : one;
  });
  return codes.includes('')
    ? searchIssue(name, `'${name}' must have a code, also after '${codeSystem}|'.`)
    : codes.join(',');
}

/** The filter for codes of a boolean. Medplum takes one code: `true,false` becomes `:missing=false`. */
function asOneBoolean(name: string, codes: string, isNot: boolean): SearchParam | Issue {
  const values = new Set(codes.split(','));
  if ([...values].some((value) => value !== 'true' && value !== 'false')) {
    return searchIssue(name, `'${name}' must be true or false.`);
  }
  return values.size === 1
    ? { name: isNot ? `${name}:not` : name, value: [...values].join() }
    : { name: `${name}:missing`, value: String(isNot) };
}

/** One link of a chain: a reference parameter, as it was written (`actor:Patient`), and the type that it leads to. */
interface ChainLink {
  readonly name: string;
  readonly text: string;
  readonly target: ServedTypeName;
}

/** A chained filter, taken apart: its links, and the filter on the resources that the last one leads to. */
export interface Chain {
  readonly links: readonly ChainLink[];
  readonly end: SearchParam;
}

/** A filter as Medplum understands it. */
export interface Filter extends SearchParam {
  readonly entry: SearchParameterEntry;
  readonly chain?: Chain;
}

const maxLinks = 3;

/** The issue of a parameter that the service does not know, as opposed to one that is wrong. */
interface UnknownParameter extends Issue {
  readonly isUnknown: true;
}

/** Whether an issue says that the service does not know a parameter; a lenient search ignores such a parameter. */
export function isUnknownParameter(issue: Issue): boolean {
  return 'isUnknown' in issue;
}

function unknownParameter(type: ServedTypeName, sent: string, name: string): UnknownParameter {
  const known = Object.keys(searchParameters[type]).join(', ');
  return { ...searchIssue(sent, `${type} cannot be searched by '${name}'. Supported: ${known}.`), isUnknown: true };
}

/** The name of a parameter, and its modifier: everything after the first colon. */
function splitModifier(text: string): readonly [string, string | undefined] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** The link of a chain, `schedule` or `actor:HealthcareService`; an issue if its target is unknown or ambiguous. */
function followLink(type: ServedTypeName, text: string, sent: string): ChainLink | Issue {
  const [name, modifier] = splitModifier(text);
  const targets = searchParameter(type, name)?.targets;
  if (!targets) {
    return unknownParameter(type, sent, text);
  }
  const target = modifier === undefined && targets.length === 1 ? targets[0] : targets.find((one) => one === modifier);
  const diagnostics = `'${name}' can refer to ${targets.join(', ')}: name one of them after a colon.`;
  return target ? { name, text, target } : searchIssue(sent, diagnostics);
}

/** A reference as Medplum stores it: `Type/id`. Other references stay unchanged. */
function rewriteReference(value: string, targets: readonly ResourceType[], baseUrl: string): string {
  const reference = parseReference(value, baseUrl, [...servedTypeNames, ...targets]);
  if (reference) {
    return formatReference(reference);
  }
  return isId(value) ? targets.map((type) => `${type}/${value}`).join(',') : value;
}

function rewriteReferences(value: string, targets: readonly ResourceType[], baseUrl: string): string {
  return splitAlternatives(value)
    .map((one) => rewriteReference(one, targets, baseUrl))
    .join(',');
}

/** A value as Medplum finds it; the values of `:not` are written like any others. */
function rewriteValue(sent: SearchParam, entry: SearchParameterEntry, baseUrl: string): string | Issue {
  if (entry.codeSystem) {
    return rewriteCodes(sent, entry.codeSystem);
  }
  const targets = entry.outside ? [entry.outside] : entry.targets;
  return targets ? rewriteReferences(sent.value, targets, baseUrl) : sent.value;
}

/** Reads the last part of a filter's name, `status` or `active:not`, for a type, and rewrites its value for Medplum. */
function readEnd(type: ServedTypeName, last: string, sent: SearchParam, baseUrl: string): Filter | Issue {
  const [name, modifier] = splitModifier(last);
  const entry = searchParameter(type, name);
  if (!entry) {
    return unknownParameter(type, sent.name, name);
  }
  const upstreamName = entry.upstreamName ?? name;
  const target = entry.targets?.find((one) => one === modifier);
  if (target) {
    return { name: upstreamName, value: rewriteReferences(sent.value, [target], baseUrl), entry };
  }
  if (modifier !== undefined && !modifiersOf(entry).includes(modifier)) {
    const known = modifiersOf(entry).join(', ') || 'none';
    return searchIssue(sent.name, `'${name}' does not support the modifier '${modifier}'. Supported: ${known}.`);
  }
  if (modifier === 'missing' && sent.value !== 'true' && sent.value !== 'false') {
    return searchIssue(sent.name, `'${sent.name}' must be true or false.`);
  }
  if (entry.type === 'string' && modifier !== 'missing') {
    const text = rewriteString(upstreamName, modifier, sent.value, entry.isWords === true);
    return isIssue(text) ? { ...text, expression: `http.${sent.name}` } : { ...text, entry };
  }
  const isRewritten = modifier === undefined || modifier === 'not';
  const value = isRewritten ? rewriteValue(sent, entry, baseUrl) : sent.value;
  if (entry.isBoolean && isRewritten && typeof value === 'string') {
    const filter = asOneBoolean(upstreamName, value, modifier === 'not');
    return isIssue(filter) ? { ...filter, expression: `http.${sent.name}` } : { ...filter, entry };
  }
  const nameInMedplum = modifier === undefined ? upstreamName : `${upstreamName}:${modifier}`;
  return typeof value === 'string' ? { name: nameInMedplum, value, entry } : value;
}

/**
 * Reads one filter of a search and writes it the way Medplum understands it: parameters with Medplum's names (also at the
 * end of a chain, `schedule.actor:HealthcareService.type`), references relative. A chain is followed through the table of
 * search parameters, so that it never leaves the types of the service; `resolveChains` follows it through the data.
 *
 * @param sent - one parameter of the query, decoded, not empty
 * @returns the filter, or the issue that names the parameter and what is supported
 * @see specification 4.3; https://hl7.org/fhir/R4/search.html#chaining
 */
export function readFilter(type: ServedTypeName, sent: SearchParam, baseUrl: string): Filter | Issue {
  const parts = sent.name.split('.');
  const last = parts.pop() ?? '';
  if (parts.length > maxLinks) {
    return searchIssue(sent.name, `A chain can have at most ${maxLinks} links.`);
  }
  const links: ChainLink[] = [];
  let current = type;
  for (const part of parts) {
    const link = followLink(current, part, sent.name);
    if (isIssue(link)) {
      return link;
    }
    links.push(link);
    current = link.target;
  }
  const filter = readEnd(current, last, sent, baseUrl);
  if (isIssue(filter) || links.length === 0) {
    return filter;
  }
  const { type: kind, isPayerKind, period } = filter.entry;
  return kind === 'composite' || isPayerKind || period
    ? searchIssue(sent.name, `'${last}' cannot be the last parameter of a chain.`)
    : { ...filter, name: [...parts, filter.name].join('.'), chain: { links, end: filter } };
}
