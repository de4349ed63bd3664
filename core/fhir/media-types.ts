/**
 * The media types of FHIR's formats. The service itself uses the first of each.
 * @see https://hl7.org/fhir/R4/http.html#mime-type
 */
export const mediaTypes = {
  json: ['application/fhir+json', 'application/json'],
  xml: ['application/fhir+xml'],
} as const;

/** A media type in lower case, without parameters such as `charset`. */
export const withoutParameters = (mediaType: string): string => (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();

export const isXml = (mediaType: string): boolean => mediaTypes.xml.some((one) => one === withoutParameters(mediaType));
