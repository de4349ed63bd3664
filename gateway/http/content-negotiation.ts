import { type Format, formats, JSON_PATCH, json } from './formats.ts';

/**
 * A media type or media range: in lower case, without parameters other than those that have a meaning in FHIR or HTTP.
 */
interface MediaRange {
  readonly type: string;
  readonly quality: number;
  readonly charset: string | undefined;
  readonly fhirVersion: string | undefined;
}

const supportedFhirVersions: readonly (string | undefined)[] = [undefined, '4.0', '4.0.1'];

/** Reads a media type or a part of `Accept`; a quality that is not a number from 0 to 1 counts as 0. */
function parseMediaRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';');
  const parameters = new Map(
    rest.map((parameter) => {
      const [name = '', value = ''] = parameter.split('=', 2);
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')];
    }),
  );
  const quality = Number(parameters.get('q') ?? 1);
  return {
    type: type.trim().toLowerCase(),
    quality: quality >= 0 && quality <= 1 ? quality : 0,
    charset: parameters.get('charset')?.toLowerCase(),
    fhirVersion: parameters.get('fhirversion'),
  };
}

/** How closely a range describes a media type: 3 exactly, 2 `type/*`, 1 `*\/*`, 0 not at all. */
function precision(range: MediaRange, mediaType: string): number {
  if (!supportedFhirVersions.includes(range.fhirVersion)) {
    return 0;
  }
  const wildcard = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`;
  return [range.type === '*/*', range.type === wildcard, range.type === mediaType].lastIndexOf(true) + 1;
}

/** How a client rates a media type: the quality of the ranges that describe it most closely, and how closely. */
function preferenceFor(mediaType: string, ranges: readonly MediaRange[]) {
  const closest = Math.max(0, ...ranges.map((range) => precision(range, mediaType)));
  const matching = ranges.filter((range) => closest > 0 && precision(range, mediaType) === closest);
  return { mediaType, closest, quality: Math.max(0, ...matching.map(({ quality }) => quality)) };
}

/** The format of an answer, and the media type that its `Content-Type` names. */
export interface Negotiated {
  readonly format: Format;
  readonly mediaType: string;
}

/**
 * The format that a client names in `_format`: a short name or a media type (in which an unescaped plus sign arrives as a
 * space).
 */
function formatNamed(value: string): Negotiated | undefined {
  const { type: sent, fhirVersion } = parseMediaRange(value);
  const type = sent.replaceAll(' ', '+');
  const isKnownVersion = supportedFhirVersions.includes(fhirVersion);
  const format = formats.find(({ name, mediaTypes }) => isKnownVersion && [name, ...mediaTypes].includes(type));
  return format && { format, mediaType: type === format.name ? format.mediaTypes[0] : type };
}

/**
 * Chooses the format of an answer. `_format` overrides `Accept`. A client that asks for a general media type, such as
 * `application/json`, is answered with it.
 *
 * @param formatParameter - the value of `_format`; empty counts as absent
 * @returns `undefined` if the client accepts none of the formats (406)
 * @see https://hl7.org/fhir/R4/http.html#mime-type and https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function negotiate(accept: string | undefined, formatParameter: string | undefined): Negotiated | undefined {
  if (formatParameter) {
    return formatNamed(formatParameter);
  }
  const ranges = (accept ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(parseMediaRange);
  if (ranges.length === 0) {
    return { format: json, mediaType: json.mediaTypes[0] };
  }
  const ranked = formats.flatMap((format) =>
    format.mediaTypes.map((mediaType) => ({ format, ...preferenceFor(mediaType, ranges) })),
  );
  const bestQuality = Math.max(...ranked.map(({ quality }) => quality));
  const bestFormat = ranked.find(({ quality }) => bestQuality > 0 && quality === bestQuality)?.format;
  const candidates = ranked.filter(({ format, quality }) => format === bestFormat && quality === bestQuality);
  const closest = Math.max(...candidates.map((candidate) => candidate.closest));
  return candidates.find((candidate) => candidate.closest === closest);
}

/**
 * The format of a request's body.
 *
 * @returns `undefined` if the service does not read it: another type, FHIR version or charset (415)
 */
export function formatOfBody(contentType: string | undefined): Format | undefined {
  const sent = parseMediaRange(contentType ?? '');
  const isReadable =
    supportedFhirVersions.includes(sent.fhirVersion) && [undefined, 'utf-8', 'utf8', 'us-ascii'].includes(sent.charset);
  return formats.find((format) => isReadable && format.mediaTypes.includes(sent.type));
}

/** Whether a request's body is a JSON Patch. */
export function isJsonPatch(contentType: string | undefined): boolean {
  const { type, charset } = parseMediaRange(contentType ?? '');
  return type === JSON_PATCH && [undefined, 'utf-8', 'utf8', 'us-ascii'].includes(charset);
}

/** Whether a request's body is an HTML form, as in a search by POST. */
export function isForm(contentType: string | undefined): boolean {
  return parseMediaRange(contentType ?? '').type === 'application/x-www-form-urlencoded';
}
