import type { Bundle, CapabilityStatement, Resource } from '@medplum/fhirtypes';
import { isObject } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { type FhirResponse, isAnyResource } from '../http/response.ts';
import { isBundle } from '../medplum/public-resources.ts';
import { searchMedplum } from '../search/medplum.ts';
import { searchIssue } from '../search/parameters/param.ts';
import { parseQuery } from '../search/rewrite.ts';
import type { DefinitionType } from '../served-types.ts';
import { current } from './read.ts';

/** The canonical URLs in a CapabilityStatement, by definition type. */
export type DefinitionUrls = Readonly<Record<DefinitionType, readonly string[]>>;

/** Returns the canonical URLs of the profiles, operations and search parameters in a CapabilityStatement. */
export function definitionUrlsIn({ rest = [] }: CapabilityStatement): DefinitionUrls {
  const resources = rest.flatMap(({ resource = [] }) => resource);
  const once = (urls: readonly (string | undefined)[]) => [...new Set(urls.flatMap((url) => url ?? []))];
  return {
    StructureDefinition: once(resources.flatMap(({ supportedProfile = [] }) => supportedProfile)),
    OperationDefinition: once(resources.flatMap(({ operation = [] }) => operation.map(({ definition }) => definition))),
    SearchParameter: once(resources.flatMap(({ searchParam = [] }) => searchParam.map(({ definition }) => definition))),
  };
}

/** The id under which a definition is read: the end of its canonical URL. */
const idOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

const isNamed = (resource: unknown, urls: readonly string[]): resource is Resource & { readonly url: string } =>
  isAnyResource(resource) && 'url' in resource && typeof resource.url === 'string' && urls.includes(resource.url);

/** The stored definitions with these canonical URLs, each once, or the response if they cannot be read. */
async function findDefinitions(
  type: DefinitionType,
  urls: readonly string[],
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<readonly Resource[] | FhirResponse> {
  if (urls.length === 0) {
    return [];
  }
  const query = new URLSearchParams({ url: urls.join(','), _count: '1000' }).toString();
  const found = await searchMedplum(type, query, 'POST', exchange, context);
  if (!isBundle(found)) {
    return found;
  }
  const resources = (found.entry ?? []).map((entry): unknown => (isObject(entry) ? entry.resource : undefined));
  const byId = new Map<string, Resource>();
  for (const resource of resources) {
    if (isNamed(resource, urls) && resource.resourceType === type && !byId.has(idOf(resource.url))) {
      byId.set(idOf(resource.url), { ...resource, id: idOf(resource.url) });
    }
  }
  return [...byId.values()];
}

/**
 * `GET /{type}/{id}`: a definition of the CapabilityStatement, by the end of its canonical URL.
 *
 * @param readable - the definitions that the statement references
 */
export function readDefinition(type: DefinitionType, readable: DefinitionUrls): Handler {
  return async (exchange, context) => {
    const urls = readable[type].filter((url) => idOf(url) === exchange.params.id);
    const found = await findDefinitions(type, urls, exchange, context);
    if ('status' in found) {
      return found;
    }
    const [resource] = found;
    return resource ? current(resource, exchange) : problem('not-found');
  };
}

/** `GET /{type}`: the stored definitions of the CapabilityStatement; `url` is the only search parameter. */
export function searchDefinitions(type: DefinitionType, readable: DefinitionUrls): Handler {
  return async (exchange, context) => {
    const sent = parseQuery(exchange.query).filter(({ name }) => !/^_(format|pretty)$/.test(name));
    const unknown = sent.filter(({ name }) => name !== 'url');
    if (unknown.length > 0) {
      const diagnostics = `${type} is searched by url only.`;
      return refusal(
        unknown.map(({ name }) => searchIssue(name, diagnostics)),
        context.config,
      );
    }
    const wanted = sent.map(({ value }) => value.split(','));
    const urls = readable[type].filter((url) => wanted.every((values) => values.includes(url)));
    const found = await findDefinitions(type, urls, exchange, context);
    if ('status' in found) {
      return found;
    }
    const self = `${context.config.baseUrl}/${type}${exchange.query ? `?${exchange.query}` : ''}`;
    const bundle: Bundle = {
      resourceType: 'Bundle',
      type: 'searchset',
      total: found.length,
      link: [{ relation: 'self', url: self }],
      ...(found.length > 0 && {
        entry: found.map((resource) => ({
          fullUrl: `${context.config.baseUrl}/${type}/${resource.id}`,
          resource,
          search: { mode: 'match' as const },
        })),
      }),
    };
    return { status: 200, resource: bundle };
  };
}
