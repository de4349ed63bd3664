import type { Bundle, BundleEntry, BundleLink, Resource } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../core/fhir/artefacts.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { publicSubscription } from '../../core/notifications/subscription/channel.ts';
import { withoutPools } from '../../core/visits/visit.ts';
import { isAnyResource } from '../http/response.ts';
import { isServedType, type ServedTypeName } from '../served-types.ts';
import type { Addresses } from './address-rewriting.ts';

/** Removes what only the clinic sees: the pools of a HealthcareService, the headers of a Subscription. */
function withoutInternals<T extends Resource>(resource: T, config?: PublicConfig): T {
  if (resource.resourceType === 'HealthcareService' && config) {
    return { ...resource, ...withoutPools(resource, config) };
  }
  // With `_elements` the channel may be missing.
  return resource.resourceType === 'Subscription' && resource.channel
    ? { ...resource, ...publicSubscription(resource) }
    : resource;
}

/**
 * A resource as the world may see it.
 *
 * @param config - needed to remove the pools of a HealthcareService
 * @returns `undefined` if the answer is not such a resource
 */
export function publicResource(body: unknown, type: ServedTypeName, config?: PublicConfig): Resource | undefined {
  return isAnyResource(body) && body.resourceType === type ? withoutInternals(body, config) : undefined;
}

/** An entry with its public address; none if the service does not offer its type. */
function publicEntry(entry: BundleEntry, base: string, config: PublicConfig): BundleEntry[] {
  const resource = isObject(entry) && isAnyResource(entry.resource) ? entry.resource : undefined;
  if (!resource || !isServedType(resource.resourceType)) {
    return [];
  }
  const fullUrl = `${base}/${resource.resourceType}/${resource.id}`;
  return [{ ...entry, fullUrl, resource: withoutInternals(resource, config) }];
}

/** A link of a search of this type, rewritten to lead back through the gateway; none if it leads elsewhere. */
function publicLink(link: BundleLink, type: ServedTypeName, addresses: Addresses): BundleLink[] {
  const url = typeof link?.url === 'string' ? addresses.publicUrl(link.url) : undefined;
  const [path] = url?.split('?', 1) ?? [];
  const isOwn = url !== undefined && path === `${addresses.base}/${type}` && typeof link.relation === 'string';
  return isOwn ? [{ relation: link.relation, url }] : [];
}

/** Whether a value looks like a Bundle. */
export function isBundle(value: unknown): value is Bundle {
  return (
    isObject(value) && value.resourceType === 'Bundle' && (value.entry === undefined || Array.isArray(value.entry))
  );
}

/**
 * A search result as the world may see it: addresses of the service only, resources of its types only.
 *
 * @see https://hl7.org/fhir/R4/bundle.html#searchset
 */
export function publicBundle(bundle: Bundle, type: ServedTypeName, addresses: Addresses, config: PublicConfig): Bundle {
  const links = Array.isArray(bundle.link) ? bundle.link : [];
  const entries = bundle.entry?.flatMap((entry) => publicEntry(entry, addresses.base, config)) ?? [];
  const { link: _link, entry: _entry, ...rest } = bundle;
  return {
    ...rest,
    link: links.flatMap((link) => publicLink(link, type, addresses)),
    ...(entries.length > 0 && { entry: entries }),
  };
}
