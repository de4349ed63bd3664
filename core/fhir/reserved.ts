import { EXTERNAL_TAG } from '../config/config.ts';
import { type Artefact, artefacts, artefactUri, type PublicConfig } from './artefacts.ts';
import { withStoredReferences } from './reference.ts';
import { isObject, isSameToken } from './resource.ts';

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
