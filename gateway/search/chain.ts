import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { isBundle, publicResource } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { searchMedplum } from './medplum.ts';
import { type SearchParam, searchIssue } from './parameters/param.ts';
import { formatQuery, type RewrittenParam } from './rewrite.ts';

/** Maximum number of resources at a link of a chain if they have to be named by id. */
const maxLinked = 300;

/** An id that no resource has: a search for it finds nothing. */
const UNUSED_ID = '00000000-0000-0000-0000-000000000000';

/** The caller and the parameter of a chain that is resolved. */
interface Resolution {
  readonly exchange: FhirRequest;
  readonly context: GatewayContext;
  /** Whether the caller finds every resource of a type. */
  readonly findsAll: (type: ServedTypeName) => boolean;
  readonly sent: SearchParam;
  /** Whether the resources at the first link are named by id, even though the caller finds all of them. */
  readonly isNamed: boolean;
}

/** The ids of the resources that a condition finds for the caller; one more than `maxLinked` if there are more. */
async function idsOf(
  type: ServedTypeName,
  condition: SearchParam,
  { exchange, context }: Resolution,
): Promise<readonly string[] | FhirResponse> {
  const page = [
    { name: '_elements', value: 'id' },
    { name: '_count', value: String(maxLinked + 1) },
  ];
  const found = await searchMedplum(type, formatQuery([condition, ...page]), 'POST', exchange, context);
  return isBundle(found)
    ? (found.entry ?? []).flatMap((entry) => publicResource(entry?.resource, type)?.id ?? [])
    : found;
}

type Chain = NonNullable<RewrittenParam['chain']>;

/** A chain in Medplum's syntax. */
const inMedplum = (links: Chain['links'], end: Chain['end']): SearchParam => ({
  name: [...links.map(({ text }) => text), end.name].join('.'),
  value: end.value,
});

/**
 * The condition that replaces the links of a chain from `index` on; or the response to send instead: Medplum's refusal,
 * or 400 if a link leads to too many resources.
 */
async function conditionOf(
  { links, end }: Chain,
  index: number,
  resolution: Resolution,
): Promise<SearchParam | FhirResponse> {
  const openLinks = links.slice(index);
  const [link, ...further] = openLinks;
  const findsAll = openLinks.every(({ target }) => resolution.findsAll(target));
  const isNamed = resolution.isNamed && index === 0;
  if (!link || (findsAll && !isNamed)) {
    return inMedplum(openLinks, end);
  }
  const condition = findsAll ? inMedplum(further, end) : await conditionOf({ links, end }, index + 1, resolution);
  if ('status' in condition) {
    return condition;
  }
  const ids = await idsOf(link.target, condition, resolution);
  if ('status' in ids) {
    return ids;
  }
  if (ids.length <= maxLinked) {
    return {
      name: link.name,
      value: (ids.length > 0 ? ids : [UNUSED_ID]).map((id) => `${link.target}/${id}`).join(','),
    };
  }
  if (findsAll) {
    return inMedplum(openLinks, end);
  }
  const { context, sent } = resolution;
  const diagnostics = `'${sent.name}' leads to more than ${maxLinked} resources of type ${link.target}: narrow the search.`;
  return refusal([searchIssue(sent.name, diagnostics)], context.config);
}

/**
 * Replaces chains with what they find for the caller, link by link from the end. Medplum follows a chain without regard
 * to what the caller may read at its links (https://www.medplum.com/docs/search/chained-search), so that a search of
 * the caller's own patients would reveal others that are linked to them. Each link is therefore a search of its own,
 * under the caller's AccessPolicy. A chain over types of which the caller finds everything anyway is left to Medplum;
 * but in a search for Slots the Schedules that it leads to are looked up and named, if there are not too many:
 * PostgreSQL finds the Slots of named Schedules by an index, but for the chain it walks through those of all Schedules.
 *
 * @param params - of a rewritten search
 * @returns the parameters without such chains (the same list if there are none); or the answer to give instead: Medplum's
 *   refusal, or 400 where a link leads to too many resources
 * @see https://hl7.org/fhir/R4/search.html#chaining
 */
export async function resolveChains(
  type: ServedTypeName,
  params: readonly RewrittenParam[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly SearchParam[] | FhirResponse> {
  if (params.every(({ chain }) => chain === undefined)) {
    return params;
  }
  const { caller } = exchange;
  if (!caller) {
    return problem('unauthorized');
  }
  const findsAll = (target: ServedTypeName): boolean => caller.findsAllOf.includes(target);
  const resolved: SearchParam[] = [];
  for (const { chain, ...sent } of params) {
    const resolution = { exchange, context, findsAll, sent, isNamed: type === 'Slot' };
    const condition = chain ? await conditionOf(chain, 0, resolution) : sent;
    if ('status' in condition) {
      return condition;
    }
    resolved.push(condition);
  }
  return resolved.some(({ name }, index) => name !== params[index]?.name) ? resolved : params;
}
