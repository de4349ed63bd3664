import type { Coding, Meta, Resource } from '@medplum/fhirtypes';
import { type BookingConfig, EXTERNAL_TAG } from '../config/config.ts';
import { type Artefact, artefacts, artefactUri, type PublicConfig } from './artefacts.ts';
import { withStoredReferences } from './reference.ts';
import { isObject, isSameToken } from './resource.ts';

/**
 * The tag with the requestor (id of its profile) that owns a resource. AccessPolicies compare it with the caller's
 * profile.
 */
export function requestorTag(requestor: string, config: PublicConfig): Coding {
  return { system: artefactUri(config, 'LocalRequestor'), code: requestor };
}

/** The value of a search by `_tag` for a requestor's resources. */
export function requestorQuery(requestor: string, config: PublicConfig): string {
  const { system, code } = requestorTag(requestor, config);
  return `${system}|${code}`;
}

function isOwnerTag(tag: Coding | undefined, config: PublicConfig): boolean {
  return isSameToken(tag?.system, requestorTag('', config).system);
}

/** The owner tags of a resource; several only if the resource was tampered with. */
function ownerTags({ meta }: Pick<Resource, 'meta'>, config: PublicConfig): Coding[] {
  return (Array.isArray(meta?.tag) ? meta.tag : []).filter((tag) => isOwnerTag(tag, config));
}

export function tagsOfOthers({ meta }: Pick<Resource, 'meta'>, config: PublicConfig): Coding[] {
  return (Array.isArray(meta?.tag) ? meta.tag : []).filter((tag) => !isOwnerTag(tag, config));
}

/** The id of the requestor that owns a resource; `undefined` for the clinic's own. */
export function ownerOf(resource: Pick<Resource, 'meta'>, config: PublicConfig): string | undefined {
  return ownerTags(resource, config)[0]?.code;
}

/** Whether a resource belongs to a requestor; an empty requestor stands for the clinic. */
export function belongsTo(resource: Pick<Resource, 'meta'>, requestor: string, config: PublicConfig): boolean {
  const owners = ownerTags(resource, config);
  return requestor === '' ? owners.length === 0 : owners.some(({ code }) => isSameToken(code, requestor));
}

/**
 * The stored `meta` of a resource that a requestor submits. Its own tags and profiles are kept, and the tags `external`
 * and of its owner are added. Every other claim (another requestor's tag, accounts, versions) is dropped.
 * @param requestor - id of the requestor's profile; empty for the clinic
 * @param profiles - canonical URLs that the stored resource always claims
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
 * The `meta` of a resource that a Bot writes on behalf of a profile. A tag has the profile's id as code and the
 * replaced version as version. It thus applies to this change only: if a later author leaves it in, it no longer counts
 * (`changedBy`).
 * @param who - id of the profile; empty for the service's own change
 * @param replaced - `meta.versionId` of the replaced version; absent on creation
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
 * The id of a version's author: the profile on whose behalf a Bot wrote it (`markChange`), else `meta.author`. Medplum
 * shows `author` in extended mode only. `previous` is the `meta.versionId` of the version before.
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

/** Reference to the client of a gateway that runs Bots itself; `undefined` for other gateways. */
export function gatewayAuthor({ gatewayClient }: BookingConfig): string | undefined {
  return gatewayClient && `ClientApplication/${gatewayClient}`;
}

/**
 * Whether a version was written by the service: by one of its Bots in Medplum, or by the gateway that runs them.
 * Medplum shows `meta.author` in extended mode only.
 */
export function isByService(meta: Meta | undefined, config: BookingConfig): boolean {
  const author = meta?.author?.reference;
  return author !== undefined && (author.startsWith('Bot/') || author === gatewayAuthor(config));
}

/** The R5 extension with the appointment that this one replaces. Only the service sets it. */
export const REPLACES = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';

/** The R5 extension with the previous appointment of several. Only the service sets it. */
export const PREVIOUS = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.previousAppointment';

/** The R5 extensions with the first appointment of a series and the number in it. Only the service sets them. */
export const ORIGINATING = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.originatingAppointment';
export const RECURRENCE_ID = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.recurrenceId';

/** The artefacts whose addresses clients may send; all others are reserved for the service. */
const forClients: ReadonlySet<string> = new Set<Artefact>([
  'LocalTerminPriorityExtension',
  'LocalOwnChanges',
  'LocalMessages',
  'LocalPayerKind',
  'LocalServiceType',
  'LocalSpecialty',
  'LocalPayerKinds',
  'LocalContextType',
]);

function reservedUris(config: PublicConfig): ReadonlySet<string> {
  const names = Object.keys(artefacts) as Artefact[];
  const own = names.filter((name) => !forClients.has(name)).map((name) => artefactUri(config, name));
  const links = [REPLACES, PREVIOUS, ORIGINATING, RECURRENCE_ID];
  return new Set([...own, ...links].map((uri) => uri.toLowerCase()));
}

/** The elements with reserved entries, and the child element with the address. */
const marks = {
  tag: 'system',
  identifier: 'system',
  coding: 'system',
  extension: 'url',
  modifierExtension: 'url',
} as const;

type IsReserved = (element: string, entry: unknown) => boolean;

/** Decides which tags, identifiers, codings and extensions are reserved: those of the service, and `external`. */
function reservedBy(config: PublicConfig): IsReserved {
  const uris = reservedUris(config);
  return (element, entry) => {
    const mark = Object.entries(marks).find(([name]) => name === element)?.[1];
    const uri = mark && isObject(entry) ? entry[mark] : undefined;
    if (typeof uri !== 'string' || !isObject(entry)) {
      return false;
    }
    const isExternal =
      element === 'tag' &&
      isSameToken(uri, config.metaTagSystem) &&
      typeof entry.code === 'string' &&
      isSameToken(entry.code, EXTERNAL_TAG);
    return isExternal || uris.has(uri.toLowerCase());
  };
}

const hasNothing = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

const isEmptied = (before: unknown, left: unknown): boolean => hasNothing(left) && !hasNothing(before);

function listWithout(name: string, list: readonly unknown[], isReserved: IsReserved): unknown[] {
  return list
    .filter((entry) => !isReserved(name, entry))
    .map((entry) => ({ entry, left: without(entry, isReserved) }))
    .filter(({ entry, left }) => name.startsWith('_') || !isEmptied(entry, left))
    .map(({ left }) => left);
}

/** A value without reserved entries, and without what they leave empty. */
function without(value: unknown, isReserved: IsReserved): unknown {
  if (Array.isArray(value)) {
    return value.map((entry) => without(entry, isReserved));
  }
  if (!isObject(value)) {
    return value;
  }
  const kept = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const left = Array.isArray(inner) ? listWithout(name, inner, isReserved) : without(inner, isReserved);
    const isGone = Array.isArray(left)
      ? left.length === 0 && Array.isArray(inner) && inner.length > 0
      : isReserved(name, inner) || (isEmptied(inner, left) && name !== 'meta');
    return isGone ? [] : [[name, left]];
  });
  return Object.fromEntries(kept);
}

/**
 * A client's value (at most as deep as `DEEPEST`) without the tags, extensions, identifiers and codes that only the
 * service sets, and with references in their stored form. Letter case of addresses is ignored, as in Medplum.
 */
export function withoutReserved(sent: unknown, config: PublicConfig): unknown {
  return without(withStoredReferences(sent, config.baseUrl), reservedBy(config));
}

/** A reserved entry, and the path of its element, without list indexes. */
export interface ReservedEntry {
  readonly path: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The tags, extensions, identifiers and codes of a resource that only the service sets, at any depth. */
export function reservedEntries(resource: unknown, path: string, config: PublicConfig): ReservedEntry[] {
  const isReserved = reservedBy(config);
  const entriesIn = (value: unknown, at: string): ReservedEntry[] => {
    if (Array.isArray(value)) {
      return value.flatMap((entry) => entriesIn(entry, at));
    }
    return Object.entries(isObject(value) ? value : {}).flatMap(([name, inner]) => {
      const own = (Array.isArray(inner) ? inner : [inner]).filter((entry) => isReserved(name, entry)).filter(isObject);
      return [...own.map((entry) => ({ path: `${at}.${name}`, entry })), ...entriesIn(inner, `${at}.${name}`)];
    });
  };
  return entriesIn(resource, path);
}

export function isReservedTag(tag: unknown, config: PublicConfig): boolean {
  return reservedBy(config)('tag', tag);
}
