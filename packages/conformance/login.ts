import { type Client, clientOf, patience, reach } from './client.ts';
import { isObject, parseJson } from './resource.ts';

interface Login {
  readonly baseUrl: string;
  readonly token?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Token endpoint; default: by discovery. */
  readonly tokenUrl?: string | undefined;
}

const GRANT = { grant_type: 'client_credentials' };

const bounds = { ...patience, timeout: 20_000 };

/** A token is renewed after this fraction of its lifetime, as requests take time and clocks differ. */
const RENEWED = 0.8;

/** The methods of client authentication (RFC 6749, 2.3.1); a server need not support both. */
const proofs: readonly ((id: string, secret: string) => RequestInit)[] = [
  (id, secret) => ({ body: new URLSearchParams({ ...GRANT, client_id: id, client_secret: secret }) }),
  (id, secret) => ({
    body: new URLSearchParams(GRANT),
    headers: { authorization: `Basic ${btoa([id, secret].map(encodeURIComponent).join(':'))}` },
  }),
];

const places = ['smart-configuration', 'openid-configuration'] as const;

async function discover(baseUrl: string): Promise<string> {
  const bases = [baseUrl.replace(/(?<!\/)\/+$/, ''), new URL(baseUrl).origin];
  for (const address of bases.flatMap((base) => places.map((name) => `${base}/.well-known/${name}`))) {
    const { response, text } = await reach(address, bounds, { redirect: 'follow' });
    const found = parseJson(text);
    if (response.ok && isObject(found) && typeof found.token_endpoint === 'string') {
      return found.token_endpoint;
    }
  }
  throw new Error(`${baseUrl} does not say where tokens are issued. Name the token endpoint, or give a token.`);
}

interface Token {
  readonly token: string;
  readonly until: number;
}

async function tokenFor({ baseUrl, tokenUrl, clientId = '', clientSecret = '' }: Login): Promise<Token> {
  const address = tokenUrl ?? (await discover(baseUrl));
  const refused: string[] = [];
  for (const proof of proofs) {
    const { response, text } = await reach(address, bounds, { method: 'POST', ...proof(clientId, clientSecret) });
    const answer = parseJson(text);
    if (response.ok && isObject(answer) && typeof answer.access_token === 'string') {
      const seconds = typeof answer.expires_in === 'number' ? answer.expires_in : Number.POSITIVE_INFINITY;
      return { token: answer.access_token, until: Date.now() + RENEWED * 1_000 * seconds };
    }
    refused.push(`${response.status} ${response.headers.get('location') ?? text.slice(0, 200)}`.trim());
  }
  throw new Error(`${address} issued no token to ${clientId}: ${[...new Set(refused)].join('; ')}.`);
}

/** Renews the token in time. If that fails, the old token is used until it is refused. */
async function renewing(login: Login): Promise<() => Promise<string>> {
  let issued = Promise.resolve(await tokenFor(login));
  return async () => {
    const current = issued;
    const known = await current;
    if (known.until < Date.now() && issued === current) {
      issued = tokenFor(login).catch(() => known);
    }
    return (await issued).token;
  };
}

/**
 * Creates the client of a party: with the given token, with one obtained by its credentials, or anonymous.
 *
 * @throws Error with the reason if no token is issued
 */
export async function logIn(login: Login): Promise<Client> {
  const token = login.token ?? (login.clientId ? await renewing(login) : undefined);
  return clientOf(login.baseUrl, token);
}
