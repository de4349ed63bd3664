import type { Coding, Meta, Resource } from '@medplum/fhirtypes';
import { type BookingConfig, EXTERNAL_TAG } from '../config/config.ts';
import { artefactUri, type PublicConfig } from './artefacts.ts';
import { isReservedTag } from './reserved.ts';
import { isSameToken } from './resource.ts';

/**
 * The tag by which the requestor that owns a resource is known; AccessPolicies compare it with the caller's profile.
 *
 * @param requestor - id of the requestor's profile in Medplum, usually of its ClientApplication
 */
export function requestorTag(requestor: string, config: PublicConfig): Coding {
  return { system: artefactUri(config, 'LocalRequestor'), code: requestor };
}

/** The value of a search by `_tag` for what a requestor owns. */
export function requestorQuery(requestor: string, config: PublicConfig): string {
  const { system, code } = requestorTag(requestor, config);
  return `${system}|${code}`;
}

/** Whether a tag names the owner of a resource. */
function isOwnerTag(tag: Coding | undefined, config: PublicConfig): boolean {
  return isSameToken(tag?.system, requestorTag('', config).system);
}

/** The tags of a resource that name its owner; more than one only if the resource was tampered with. */
function ownerTags({ meta }: Pick<Resource, 'meta'>, config: PublicConfig): Coding[] {
  return (Array.isArray(meta?.tag) ? meta.tag : []).filter((tag) => isOwnerTag(tag, config));
}

/** The tags of a resource that do not name an owner, unchanged. */
export function tagsOfOthers({ meta }: Pick<Resource, 'meta'>, config: PublicConfig): Coding[] {
  return (Array.isArray(meta?.tag) ? meta.tag : []).filter((tag) => !isOwnerTag(tag, config));
}

/** The id of the requestor that owns a resource, if one does. */
export function ownerOf(resource: Pick<Resource, 'meta'>, config: PublicConfig): string | undefined {
  return ownerTags(resource, config)[0]?.code;
}

/** Whether a resource belongs to a requestor; to an empty one belongs what the clinic itself has. */
export function belongsTo(resource: Pick<Resource, 'meta'>, requestor: string, config: PublicConfig): boolean {
  const owners = ownerTags(resource, config);
  return requestor === '' ? owners.length === 0 : owners.some(({ code }) => isSameToken(code, requestor));
}

/**
 * The `meta` of a resource that a requestor submits, as it is stored: its own tags and profiles are kept, the tag
 * `external` and the requestor's own are added, and every other claim (another requestor's tag, accounts, versions) is
 * dropped.
 *
 * @param sent - `meta` as sent, of any shape
 * @param requestor - id of the requestor's profile; empty for what the clinic itself has
 * @param profiles - canonical URLs that the stored resource claims in any case
 * @see specification 2.1 and 2.2, meta.tag
 */
export function metaOfSubmitted(
  sent: Meta | undefined,
  requestor: string,
  config: PublicConfig,
  profiles: readonly string[] = [],
): Meta {
  const own = requestor === '' ? [] : [requestorTag(requestor, config)];
  const external: Coding = { system: config.metaTagSystem, code: EXTERNAL_TAG };
  const kept = (Array.isArray(sent?.tag) ? sent.tag : []).filter((tag) => !isReservedTag(tag, config));
  const profile = [...new Set([...(Array.isArray(sent?.profile) ? sent.profile : []), ...profiles])];
  return { ...(profile.length > 0 && { profile }), tag: [...kept, ...(own.length > 0 ? [external] : []), ...own] };
}

/**
 * The `meta` of a resource that a Bot writes on behalf of a profile, with a tag that says so: its code is the profile's
 * id, its version the version that is replaced. The tag therefore applies to this one change only: if another author
 * changes the resource later and leaves the tag in it, the tag no longer counts (`changedBy`).
 *
 * @param meta - as it is to be written
 * @param who - id of the profile on whose behalf it is written; empty if it is the service's own change
 * @param replaced - `meta.versionId` of the version that is replaced; absent on creation
 */
export function markChange(
  meta: Meta | undefined,
  who: string,
  replaced: string | undefined,
  config: PublicConfig,
): Meta {
  const system = artefactUri(config, 'LocalChangedBy');
  const kept = (meta?.tag ?? []).filter((tag) => tag.system !== system);
  const mark = who === '' ? [] : [{ system, code: who, ...(replaced && { version: replaced }) }];
  return { ...meta, tag: [...kept, ...mark] };
}

/**
 * Who made a version of a resource: the one on whose behalf a Bot wrote it (`markChange`), else its author.
 *
 * @param meta - of the version; with `author`, which Medplum shows in extended mode only
 * @param previous - `meta.versionId` of the version before; absent for the first
 * @returns id of the profile, or `undefined` if neither is known
 */
export function changedBy(
  meta: Meta | undefined,
  previous: string | undefined,
  config: PublicConfig,
): string | undefined {
  const system = artefactUri(config, 'LocalChangedBy');
  const mark = meta?.tag?.find((tag) => tag.system === system && tag.version === previous);
  return mark?.code ?? meta?.author?.reference?.split('/')[1];
}

/** Reference to the client with which the gateway writes where it runs Bots itself; `undefined` if there is none. */
export function gatewayAuthor({ gatewayClient }: BookingConfig): string | undefined {
  return gatewayClient && `ClientApplication/${gatewayClient}`;
}

/**
 * Whether the service itself has written a version: one of its Bots in Medplum, or the gateway that runs them.
 *
 * @param meta - of the version; with `author`, which Medplum shows in extended mode only
 */
export function isByService(meta: Meta | undefined, config: BookingConfig): boolean {
  const author = meta?.author?.reference;
  return author !== undefined && (author.startsWith('Bot/') || author === gatewayAuthor(config));
}
