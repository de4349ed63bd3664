import type { Resource } from '@medplum/fhirtypes';
import { mediaTypes } from '../../core/fhir/media-types.ts';
import { toXml } from '../../core/fhir/xml/write.ts';

/** A representation of resources on the wire. */
export interface Format {
  /** Short name, as in `_format=json`. */
  readonly name: string;
  /** Media types that stand for it in `Accept`, `Content-Type` and `_format`; the first is FHIR's own. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** Writes a resource; `pretty`: for human readers. */
  readonly serialize: (resource: Resource, pretty: boolean) => string;
}

/** The format of answers when the client leaves the choice open. */
export const json: Format = {
  name: 'json',
  mediaTypes: mediaTypes.json,
  serialize: (resource, pretty) => JSON.stringify(resource, undefined, pretty ? 2 : undefined),
};

/** XML as FHIR defines it. */
export const xml: Format = {
  name: 'xml',
  mediaTypes: [...mediaTypes.xml, 'application/xml', 'text/xml'],
  serialize: toXml,
};

/**
 * Every format of the interface, the preferred one first. Content negotiation, the CapabilityStatement and the parsers
 * of request bodies read this table.
 *
 * @see https://hl7.org/fhir/R4/http.html#mime-type
 */
export const formats: readonly Format[] = [json, xml];

/** The media type of a JSON Patch, which does not represent a resource (https://www.rfc-editor.org/rfc/rfc6902). */
export const JSON_PATCH = 'application/json-patch+json';
