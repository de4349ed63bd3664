import type { Issue } from '../../core/fhir/outcome/outcome.ts';

const etag = /^\s*(?:W\/)?"(?<version>[^"]+)"\s*$/;

/**
 * The version that `If-Match` asks for.
 *
 * @returns the version; none if the header is absent or `*`; a `malformed-request` if it is not an entity tag (Medplum
 *   would silently ignore an unquoted one)
 * @see https://hl7.org/fhir/R4/http.html#concurrency
 */
export function ifMatchVersion(sent: string | undefined): { readonly version?: string } | Issue {
  if (sent === undefined || sent.trim() === '*') {
    return {};
  }
  const version = etag.exec(sent)?.groups?.version;
  return version === undefined
    ? {
        code: 'malformed-request',
        diagnostics: 'If-Match must have the form W/"version" or "version".',
        expression: 'http.If-Match',
      }
    : { version };
}
