import { isObject } from '../../../core/fhir/resource.ts';

interface Credentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The access token of the portal, shared by all visitors and renewed before it expires. It never leaves the server. */
export interface AccessTokens {
  /** @throws Error if the clinic's server issues no token */
  readonly current: () => Promise<string>;
  readonly refuse: (token: string) => void;
}

/** Tokens are renewed this long before they expire, in milliseconds. */
const MARGIN = 60_000;

interface Token {
  readonly text: string;
  readonly end: number;
}

async function request(
  { tokenUrl, clientId, clientSecret }: Credentials,
  timeout: number,
  now: number,
): Promise<Token> {
  const response = await fetch(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
    signal: AbortSignal.timeout(timeout),
  });
  const body: unknown = await response.json();
  if (!response.ok || !isObject(body) || typeof body.access_token !== 'string') {
    throw new Error(`The booking service gives the portal no access token (${response.status}).`);
  }
  const seconds = typeof body.expires_in === 'number' ? body.expires_in : 300;
  return { text: body.access_token, end: now + seconds * 1000 - MARGIN };
}

/**
 * The access tokens of a client (OAuth 2 client credentials). Concurrent callers share one token request.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
export function accessTokens(credentials: Credentials, timeout: number, now: () => number): AccessTokens {
  let token: Token | undefined;
  let requested: Promise<Token> | undefined;
  return {
    async current() {
      if (token && now() < token.end) {
        return token.text;
      }
      requested ??= request(credentials, timeout, now()).finally(() => {
        requested = undefined;
      });
      token = await requested;
      return token.text;
    },
    refuse(text) {
      token = token?.text === text ? undefined : token;
    },
  };
}
