import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri, type PublicConfig } from '../../core/fhir/artefacts.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { typeQuery } from '../../core/notifications/subscription/channel.ts';
import type { ServedTypeName } from '../served-types.ts';
import { readContextTypeValue, readPayerKind } from './parameters/context-type-value.ts';
import { type DateContext, inOneCondition, rewriteDates } from './parameters/dates.ts';
import { type Chain, type Filter, isUnknownParameter, readFilter } from './parameters/filter.ts';
import { isIssue, type ResourceFilter, type SearchParam, searchIssue } from './parameters/param.ts';
import { readPeriodSearch } from './parameters/periods.ts';
import { isForFree, splitAlternatives } from './parameters/strings.ts';
import type { IgnoredParam } from './result/ignored.ts';
import { checkControl, searchControls } from './result/result-parameters.ts';

/**
 * The condition added to a search for free Slots without `start`: no past Slots, because they cannot be booked.
 *
 * @param sent - the parameters as the client sent them
 * @param params - the same as Medplum understands them
 */
function upcomingOnly(
  type: ServedTypeName,
  sent: readonly SearchParam[],
  params: readonly SearchParam[],
  now: number,
): readonly SearchParam[] {
  const hasStart = sent.some(({ name }) => name.split(':', 1)[0] === 'start');
  return type === 'Slot' && isForFree(params) && !hasStart ? [{ name: 'start', value: `ge${formatInstant(now)}` }] : [];
}

/** A parameter as Medplum understands it; a chained one also split into its links. */
export interface RewrittenParam extends SearchParam {
  readonly chain?: Chain;
}

/** A search as Medplum understands it. */
export interface RewrittenSearch {
  readonly params: readonly RewrittenParam[];
  /** Conditions that Medplum cannot check; every one must hold. */
  readonly filters: readonly ResourceFilter[];
  /** The request's parameters for the links: without ignored ones, with the `start` that the service adds. */
  readonly asked: readonly SearchParam[];
  readonly ignored: readonly IgnoredParam[];
}

/** Parameters that content negotiation has read already. */
const representation: readonly string[] = ['_format', '_pretty'];

/** The default parameters of each type. */
function defaultsOf(type: ServedTypeName, config: PublicConfig): readonly SearchParam[] {
  if (type === 'Schedule') {
    // An absent `active` counts as active.
    return [{ name: 'active:not', value: 'false' }];
  }
  // The list of closed days is stored as a service, but offers nothing.
  return type === 'HealthcareService'
    ? [{ name: 'identifier:not', value: `${artefactUri(config, 'LocalClosedDays')}|` }]
    : [];
}

/**
 * The types of which different callers see different resources. Without any other order they would come in the database's
 * own, which depends on what others have stored, and pages could overlap.
 */
const ordered: readonly ServedTypeName[] = [
  'Appointment',
  'Encounter',
  'Patient',
  'QuestionnaireResponse',
  'RelatedPerson',
  'Subscription',
];

/** The character that replaces bytes that are not UTF-8 when they are decoded. */
const REPLACED = '\uFFFD';

const maxParameters = 100;

/** The most conditions that need work beside the search itself: chains, and those that Medplum cannot check. */
const maxChains = 5;

/** The most values of all parameters together, as Medplum is asked: the database compares every row with each of them. */
const maxValues = 500;

const countValues = (params: readonly SearchParam[]): number =>
  params.reduce((count, { value }) => count + splitAlternatives(value).length, 0);

/**
 * Parses a query or an HTML form.
 *
 * @returns its parameters in their order, decoded; those without a value are left out (`?_count` counts as nothing)
 */
export function parseQuery(query: string): readonly SearchParam[] {
  return [...new URLSearchParams(query)]
    .map(([name, value]) => ({ name: name.trim(), value: value.trim() }))
    .filter(({ name, value }) => name !== '' && value !== '');
}

/** Writes parameters as a query. */
export function formatQuery(params: readonly SearchParam[]): string {
  return new URLSearchParams(params.map(({ name, value }): [string, string] => [name, value])).toString();
}

interface Step {
  readonly params: readonly RewrittenParam[];
  readonly filter?: ResourceFilter;
}

/** The installation and the current time. */
type RewriteContext = DateContext & BookingConfig;

/** The conditions that a filter on dates stands for; `missing` is left as it is. */
function dateConditions(
  { name, value, entry, chain }: Filter,
  context: DateContext,
): readonly RewrittenParam[] | Issue {
  const end = chain?.end ?? { name, value };
  const params = end.name.includes(':') ? [end] : rewriteDates(end, entry.isWholeDay === true, context);
  if (isIssue(params) || !chain) {
    return params;
  }
  const condition = inOneCondition(params);
  const links = chain.links.map(({ text }) => text);
  return [{ ...condition, name: [...links, condition.name].join('.'), chain: { ...chain, end: condition } }];
}

/** Rewrites one parameter into parameters for Medplum, and a condition for the gateway if Medplum cannot check it. */
function rewriteParameter(type: ServedTypeName, sent: SearchParam, context: RewriteContext): Step | Issue {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no database takes them
  if (/[\u0000-\u001f\u007f]/.test(sent.name + sent.value)) {
    return searchIssue('parameter', 'A search parameter contains control characters.');
  }
  if (sent.name.includes(REPLACED) || sent.value.includes(REPLACED)) {
    return searchIssue('parameter', 'A search parameter is not written in UTF-8: ü is %C3%BC.');
  }
  if (representation.includes(sent.name)) {
    return { params: [] };
  }
  if (Object.hasOwn(searchControls, sent.name)) {
    return checkControl(type, sent) ?? { params: [sent] };
  }
  const filter = readFilter(type, sent, context.baseUrl);
  if (isIssue(filter)) {
    return filter;
  }
  const { period, isPayerKind } = filter.entry;
  if (isPayerKind) {
    return { params: [], filter: readPayerKind(filter.value, context) };
  }
  if (period) {
    const condition = readPeriodSearch(filter, period, context);
    return isIssue(condition) ? condition : { params: [], filter: condition };
  }
  if (filter.entry.type === 'date') {
    const params = dateConditions(filter, context);
    return isIssue(params) ? { ...params, expression: `http.${sent.name}` } : { params };
  }
  if (filter.entry.type !== 'composite') {
    const { name, chain } = filter;
    const value = type === 'Subscription' && name === 'type' ? typeQuery(filter.value) : filter.value;
    // Medplum finds nothing that lacks the element if `:not` has several codes.
    const isSplit = filter.entry.codeSystem !== undefined && name.endsWith(':not') && !chain;
    const values = isSplit ? value.split(',') : [value];
    return { params: values.map((part) => ({ name, value: part, ...(chain && { chain }) })) };
  }
  const usage = readContextTypeValue(filter.value);
  return isIssue(usage) ? usage : { params: usage.narrowing, filter: usage };
}

/** Adds `_id` as the last key of the order of a type in `ordered`. */
function withOrder(type: ServedTypeName, params: readonly RewrittenParam[]): readonly RewrittenParam[] {
  if (!ordered.includes(type)) {
    return params;
  }
  const last = params.findLastIndex(({ name }) => name === '_sort');
  if (last < 0) {
    return [...params, { name: '_sort', value: '_lastUpdated,_id' }];
  }
  const keys = params.filter(({ name }) => name === '_sort').flatMap(({ value }) => value.split(','));
  return keys.some((key) => key.replace(/^-/, '') === '_id')
    ? params
    : params.map((param, index) => (index === last ? { ...param, value: `${param.value},_id` } : param));
}

/**
 * Rewrites a search for Medplum, so that no part of it is ignored and none leads out of the service.
 *
 * @param sent - the query's parameters, as `parseQuery` returns them
 * @param context - the installation: the address of the service, the time zone of its days; what happens to unknown
 *   parameters; and the current time
 * @returns the search, or every problem found (400)
 * @see specification 4.1 to 4.3
 */
export function rewriteSearch(
  type: ServedTypeName,
  sent: readonly SearchParam[],
  context: RewriteContext,
): RewrittenSearch | readonly Issue[] {
  if (sent.length > maxParameters) {
    return [searchIssue('parameter', `A search can have at most ${maxParameters} parameters.`)];
  }
  const steps = sent.map((param) => ({ param, step: rewriteParameter(type, param, context) }));
  const unusable = steps.flatMap(({ param, step }) => (isIssue(step) ? { param, issue: step } : []));
  const mayIgnore = ({ issue }: IgnoredParam) => context.handling === 'lenient' && isUnknownParameter(issue);
  if (!unusable.every(mayIgnore)) {
    return unusable.filter((param) => !mayIgnore(param)).map(({ issue }) => issue);
  }
  const rewritten = steps.flatMap(({ step }) => (isIssue(step) ? [] : step));
  const params = rewritten.flatMap((step) => step.params);
  const filters = rewritten.flatMap((step) => step.filter ?? []);
  // A reference without a type is looked for with each of its types, a name in two spellings.
  const values = Math.max(countValues(sent), countValues(params));
  if (values > maxValues) {
    return [searchIssue('parameter', `A search can have at most ${maxValues} values in all; this one has ${values}.`)];
  }
  const excessChain = params.filter((param) => param.chain !== undefined)[maxChains];
  if (excessChain) {
    return [searchIssue(excessChain.name, `A search can have at most ${maxChains} chained parameters.`)];
  }
  const excess = filters[maxChains];
  if (excess) {
    return [searchIssue(excess.element, `A search can have at most ${maxChains} conditions on '${excess.element}'.`)];
  }
  const added = defaultsOf(type, context).filter(
    ({ name, value }) => !params.some((param) => param.name === name && param.value === value),
  );
  const upcoming = upcomingOnly(type, sent, params, context.now);
  const asked = steps.flatMap(({ param, step }) => (isIssue(step) ? [] : param));
  return {
    params: withOrder(type, [...params, ...added, ...upcoming]),
    filters,
    asked: [...asked, ...upcoming],
    ignored: unusable,
  };
}
