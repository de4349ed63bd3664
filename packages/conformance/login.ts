import { parseJson } from '../../core/fhir/json.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { type Client, clientOf } from './client.ts';

/** How one of the parties is known to its server. */
interface Login {
  readonly baseUrl: string;
  readonly token?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Token endpoint; found by discovery if it is absent. */
  readonly tokenUrl?: string | undefined;
}

const TIMEOUT = 20_000;

const places = ['smart-configuration', 'openid-configuration'] as const;

async function discover(baseUrl: string): Promise<string> {
  const bases = [baseUrl.replace(/(?<!\/)\/+$/, ''), new URL(baseUrl).origin];
  for (const address of bases.flatMap((base) => places.map((name) => `${base}/.well-known/${name}`))) {
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT) });
    const found = parseJson(await response.text());
    if (response.ok && isObject(found) && typeof found.token_endpoint === 'string') {
      return found.token_endpoint;
    }
  }
  throw new Error(`${baseUrl} does not say where tokens are issued. Name the token endpoint, or give a token.`);
}

async function tokenFor({ baseUrl, tokenUrl, clientId = '', clientSecret = '' }: Login): Promise<string> {
  const address = tokenUrl ?? (await discover(baseUrl));
  const response = await fetch(address, {
    method: 'POST',
    signal: AbortSignal.timeout(TIMEOUT),
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  const answer = parseJson(await response.text());
  if (!response.ok || !isObject(answer) || typeof answer.access_token !== 'string') {
    throw new Error(`${address} issued no token to ${clientId}: status ${response.status}.`);
  }
  return answer.access_token;
}

/**
 * The client of a party: with the given token, or one obtained with its credentials; without either it sends none.
 *
 * @throws Error that says what is missing if no token can be had
 */
export async function logIn(login: Login): Promise<Client> {
  const token = login.token ?? (login.clientId ? await tokenFor(login) : undefined);
  return clientOf(login.baseUrl, token);
}
