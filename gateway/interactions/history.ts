import type { Bundle, BundleEntry, BundleLink, Resource } from '@medplum/fhirtypes';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isId } from '../../core/fhir/reference.ts';
import type { GatewayContext } from '../context.ts';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import { versionHeaders } from '../http/response.ts';
import { isCurrentOnly, isVisible } from '../medplum/access-policy.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { isSuccess } from '../medplum/errors.ts';
import { isBundle, publicResource } from '../medplum/public-resources.ts';
import { searchIssue } from '../search/parameters/param.ts';
import { parseQuery } from '../search/rewrite.ts';
import type { ServedTypeName } from '../served-types.ts';
import { missingResource } from './missing-resource.ts';

/** Page size in versions: default and maximum. */
const counts = { usual: 20, most: 100 } as const;

/** Maximum number of versions that are examined, newest first, and the page size of the requests to Medplum. */
const examined = { most: 1000, pageSize: 100 } as const;

interface Page {
  readonly count: number;
  readonly offset: number;
}

/** The parameters of a history, and the greatest value of each. */
const limits = { _count: counts.most, _offset: examined.most } as const;

const isLimited = (name: string): name is keyof typeof limits => Object.hasOwn(limits, name);

/**
 * Reads the parameters of a history: `_count` and `_offset`; those common to all requests (`_format`, `_pretty`) are
 * handled elsewhere.
 */
function readPage(query: string): Page | { readonly issues: readonly Issue[] } {
  const page = { _count: counts.usual as number, _offset: 0 };
  const issues = parseQuery(query).flatMap(({ name, value }): Issue[] => {
    if (name === '_format' || name === '_pretty') {
      return [];
    }
    if (!isLimited(name)) {
      return [searchIssue(name, `A history has the parameters _count and _offset, not '${name}'.`)];
    }
    page[name] = Number(value);
    const isRight = /^\d{1,4}$/.test(value) && Number(value) <= limits[name];
    return isRight ? [] : [searchIssue(name, `'${name}' must be a number from 0 to ${limits[name]}.`)];
  });
  return issues.length > 0 ? { issues } : { count: page._count, offset: page._offset };
}

/** A version in a history; without `resource`, a deletion; `isFirst`: the version that created the resource. */
function entryOf(type: ServedTypeName, id: string, resource: Resource | undefined, isFirst: boolean, base: string) {
  const { etag } = resource ? versionHeaders(resource) : {};
  const lastModified = resource?.meta?.lastUpdated;
  const request = resource
    ? ({ method: isFirst ? 'POST' : 'PUT', url: isFirst ? type : `${type}/${id}` } as const)
    : ({ method: 'DELETE', url: `${type}/${id}` } as const);
  return {
    fullUrl: `${base}/${type}/${id}`,
    ...(resource && { resource }),
    request,
    response: {
      status: resource ? (isFirst ? '201' : '200') : '204',
      ...(etag && { etag }),
      ...(lastModified && { lastModified }),
    },
  };
}

const patientsIn = (resource: Resource | undefined): string[] =>
  resource?.resourceType === 'Appointment'
    ? (resource.participant ?? []).flatMap(({ actor }) =>
        actor?.reference?.startsWith('Patient/') ? actor.reference : [],
      )
    : [];

/**
 * Whether all patients of a version are in the current version, too: a portal no longer sees patients whom the clinic has
 * merged or erased. Without a current version there is nothing to compare with.
 */
function hasOnlyCurrentPatients(version: Resource, current: Resource | undefined): boolean {
  const currentPatients = patientsIn(current);
  return current === undefined || patientsIn(version).every((patient) => currentPatients.includes(patient));
}

/** Reads versions, newest first, until `wanted` of them are visible to the caller; or the failed response of Medplum. */
async function readVersions(
  type: ServedTypeName,
  id: string,
  wanted: number,
  { upstreamHeaders, caller }: FhirRequest,
  { upstream, config }: GatewayContext,
): Promise<readonly BundleEntry[] | MedplumResponse | UpstreamFailure> {
  const access = caller?.versions[type];
  const visible: BundleEntry[] = [];
  let current: Resource | undefined;
  for (let offset = 0; offset < examined.most; offset += examined.pageSize) {
    const response = await upstream.call({
      method: 'GET',
      path: `fhir/R4/${type}/${id}/_history`,
      query: `_count=${examined.pageSize}&_offset=${offset}`,
      headers: upstreamHeaders,
    });
    if (!isSuccess(response) || !isBundle(response.body)) {
      return isSuccess(response) ? { failure: 'broken' } : response;
    }
    const { entry = [], total = 0 } = response.body;
    current ??= access === 'all' ? undefined : entry[0]?.resource;
    entry.forEach(({ resource }, index) => {
      const isFirst = offset + index === total - 1;
      const version = publicResource(resource, type);
      if (version ? isVisible(version, access) && hasOnlyCurrentPatients(version, current) : access === 'all') {
        visible.push(entryOf(type, id, version, isFirst, config.baseUrl));
      }
    });
    if (entry.length < examined.pageSize || visible.length >= wanted) {
      break;
    }
  }
  return visible;
}

/** A page of a history. Versions that the caller may not see leave no trace in it. The last page has a total. */
function historyBundle(url: string, visible: readonly BundleEntry[], { count, offset }: Page): Bundle {
  const end = offset + count;
  const link = (relation: string, from: number): BundleLink => ({
    relation,
    url: `${url}?_count=${count}&_offset=${from}`,
  });
  const entry = visible.slice(offset, end);
  return {
    resourceType: 'Bundle',
    type: 'history',
    ...(visible.length <= end && visible.length < examined.most && { total: visible.length }),
    link: [link('self', offset), ...(count > 0 && visible.length > end ? [link('next', end)] : [])],
    ...(entry.length > 0 && { entry }),
  };
}

/**
 * `GET /{type}/{id}/_history`: the versions of a resource that the caller may see. Each version is checked: versions
 * from before the resource was the caller's are hidden. The newest 1000 are examined; the last page has a `total`.
 *
 * @see https://hl7.org/fhir/R4/http.html#history
 */
export const history = (type: ServedTypeName): Handler =>
  withId(async (id, exchange, context) => {
    const page = readPage(exchange.query);
    if ('issues' in page) {
      return refusal(page.issues, context.config);
    }
    const found = await readVersions(type, id, page.offset + page.count + 1, exchange, context);
    return 'status' in found || 'failure' in found
      ? missingResource(type, id, found, exchange, context)
      : { status: 200, resource: historyBundle(`${context.config.baseUrl}/${type}/${id}/_history`, found, page) };
  });

/** Whether a caller may see a version that Medplum has returned; without access to versions, only the current one. */
function maySeeVersion(resource: Resource, type: ServedTypeName, { caller, params }: FhirRequest): boolean {
  const access = caller?.versions[type] ?? [];
  return isCurrentOnly(access) ? resource.meta?.versionId === params.vid : isVisible(resource, access);
}

/**
 * `GET /{type}/{id}/_history/{vid}`: one version of a resource, if the resource was the caller's then. If the caller's
 * policy gives no access to versions, only the current one can be read: encounters belong to the clinic, and an earlier
 * version may have had another patient.
 *
 * @see https://hl7.org/fhir/R4/http.html#vread
 */
export const vread = (type: ServedTypeName): Handler =>
  withId(async (id, exchange, context) => {
    const { vid } = exchange.params;
    if (!isId(vid)) {
      return problem('not-found');
    }
    const isCurrent = isCurrentOnly(exchange.caller?.versions[type] ?? []);
    const path = `fhir/R4/${type}/${id}${isCurrent ? '' : `/_history/${vid}`}`;
    const found = await context.upstream.call({ method: 'GET', path, headers: exchange.upstreamHeaders });
    if (!isSuccess(found)) {
      return missingResource(type, id, found, exchange, context);
    }
    const resource = publicResource(found.body, type);
    if (!resource) {
      return problem('bad-gateway');
    }
    const isCompared = type === 'Appointment' && exchange.caller?.versions[type] !== 'all';
    const headers = exchange.upstreamHeaders;
    const currentResponse =
      isCompared && (await context.upstream.call({ method: 'GET', path: `fhir/R4/${type}/${id}`, headers }));
    const isRead = currentResponse && isSuccess(currentResponse);
    const current = isRead ? publicResource(currentResponse.body, type) : undefined;
    return maySeeVersion(resource, type, exchange) && hasOnlyCurrentPatients(resource, current)
      ? { status: 200, headers: versionHeaders(resource), resource }
      : problem('not-found');
  });
