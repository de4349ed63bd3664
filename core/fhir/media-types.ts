/**
 * The media types that stand for FHIR's formats; the first of each is the one that the service itself uses.
 *
 * @see https://hl7.org/fhir/R4/http.html#mime-type
 */
export const mediaTypes = {
  json: ['application/fhir+json', 'application/json'],
  xml: ['application/fhir+xml'],
} as const;

/** The media type itself, in lower case, without parameters such as `charset`. */
export const withoutParameters = (mediaType: string): string => (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();

/** Whether a media type, with parameters or without, stands for XML. */
export const isXml = (mediaType: string): boolean => mediaTypes.xml.some((one) => one === withoutParameters(mediaType));
