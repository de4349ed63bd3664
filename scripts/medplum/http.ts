/** A response as received. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Calls a server.
 *
 * @param path - below its base address
 * @param body - sent with POST as FHIR JSON; without one the call is a GET
 */
export type Request = (path: string, body?: string) => Promise<HttpResponse>;

/** The base address of a server with a trailing slash. */
export const withSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

const TIMEOUT = 20_000;

/**
 * Creates the function that calls a server.
 *
 * @param baseUrl - with or without a trailing slash
 */
export function requesterFor(baseUrl: string, token?: string): Request {
  const base = withSlash(baseUrl);
  return async (path, body) => {
    const response = await fetch(new URL(path, base), {
      ...(body !== undefined && { method: 'POST', body }),
      headers: {
        'content-type': 'application/fhir+json',
        accept: 'application/fhir+json, application/json',
        ...(token && { authorization: `Bearer ${token}` }),
      },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}
