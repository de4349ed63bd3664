import type { Coding, Meta } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig, EXTERNAL_TAG } from '../config/config.ts';

/** The part of the configuration that tags depend on. */
export type TagConfig = Pick<BookingConfig, 'profileBase' | 'names' | 'metaTagSystem'>;

/**
 * The tag by which the requestor that owns a resource is known; AccessPolicies compare it with the caller's profile.
 *
 * @param requestor - id of the requestor's profile in Medplum, usually of its ClientApplication
 */
export function requestorTag(requestor: string, config: TagConfig): Coding {
  return { system: artefactUri(config, 'LocalRequestor'), code: requestor };
}

/**
 * The `meta` of a resource that a requestor hands over, as it is stored: its own tags and profiles are kept, the tag
 * `external` and the requestor's own are added, and every other claim (another requestor's tag, accounts, versions) is
 * dropped.
 *
 * @param sent - `meta` as sent, of whatever shape
 * @param requestor - id of the requestor's profile
 * @param profiles - canonical URLs that the stored resource claims in any case
 * @see specification 2.1 and 2.2, meta.tag
 */
export function metaOfSubmitted(
  sent: Meta | undefined,
  requestor: string,
  config: TagConfig,
  profiles: readonly string[] = [],
): Meta {
  const own = requestorTag(requestor, config);
  const external: Coding = { system: config.metaTagSystem, code: EXTERNAL_TAG };
  const kept = (Array.isArray(sent?.tag) ? sent.tag : []).filter(
    (tag) => tag?.system !== own.system && !(tag?.system === external.system && tag?.code === external.code),
  );
  const profile = [...new Set([...(Array.isArray(sent?.profile) ? sent.profile : []), ...profiles])];
  return { ...(profile.length > 0 && { profile }), tag: [...kept, external, own] };
}
