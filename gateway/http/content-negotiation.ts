import { type Format, formats, JSON_PATCH, json } from './formats.ts';

/** A media type or media range: lower case, without its parameters except those that FHIR or HTTP give a meaning. */
interface MediaRange {
  readonly type: string;
  readonly quality: number;
  readonly charset: string | undefined;
  readonly fhirVersion: string | undefined;
}

const supportedFhirVersions: readonly (string | undefined)[] = [undefined, '4.0', '4.0.1'];

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

/** The quality a client gives to a format: that of the range that describes one of its media types most closely. */
function qualityOf(format: Format, ranges: readonly MediaRange[]): number {
  const found = format.mediaTypes.map((mediaType) => {
    const closest = Math.max(...ranges.map((range) => precision(range, mediaType)));
    const matching = ranges.filter((range) => closest > 0 && precision(range, mediaType) === closest);
    return Math.max(0, ...matching.map((range) => range.quality));
  });
  return Math.max(...found);
}

/**
 * The format a client names in `_format`: a short name or a media type (a plus sign that was sent unescaped has become
 * a space).
 */
function formatNamed(value: string): Format | undefined {
  const range = parseMediaRange(value.trim().replaceAll(' ', '+'));
  const isKnownVersion = supportedFhirVersions.includes(range.fhirVersion);
  return formats.find(
    ({ name, mediaTypes, aliases }) => isKnownVersion && [name, ...mediaTypes, ...aliases].includes(range.type),
  );
}

/**
 * Chooses the format of an answer. `_format` overrides `Accept`.
 *
 * @param accept - the `Accept` header
 * @param formatParameter - the value of `_format`; empty counts as absent
 * @returns `undefined` if the client accepts none of the formats (406)
 * @see https://hl7.org/fhir/R4/http.html#parameters and https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function negotiate(accept: string | undefined, formatParameter: string | undefined): Format | undefined {
  if (formatParameter) {
    return formatNamed(formatParameter);
  }
  const ranges = (accept ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(parseMediaRange);
  if (ranges.length === 0) {
    return json;
  }
  const ranked = formats.map((format) => ({ format, quality: qualityOf(format, ranges) }));
  const best = Math.max(...ranked.map(({ quality }) => quality));
  return best > 0 ? ranked.find(({ quality }) => quality === best)?.format : undefined;
}

/**
 * The format of a request's body.
 *
 * @param contentType - the `Content-Type` header
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
