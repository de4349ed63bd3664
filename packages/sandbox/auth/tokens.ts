import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

interface Claims {
  readonly client_id?: string | undefined;
  /** Id of the ProjectMembership that the token stands for. */
  readonly login_id: string;
  readonly sub: string;
  readonly profile: string;
  readonly scope: string;
  /** In a binding token only: the Subscription to which a websocket may be bound, and the membership. */
  readonly subscription_id?: string | undefined;
  readonly membership_id?: string | undefined;
  readonly session_id?: string | undefined;
  /** In a refresh token only: it gives new tokens but no access. */
  readonly refresh_secret?: string | undefined;
}

/** Claims of an issued token. `exp` and `iat` are in seconds since 1970-01-01T00:00:00Z. */
export type VerifiedClaims = Claims & { readonly exp: number; readonly iat: number; readonly iss: string };

/** Issues and checks access tokens: JWTs that only this sandbox can read. */
export interface Tokens {
  /** @param lifetime - in seconds */
  issue(claims: Claims, lifetime: number): string;
  /** The claims of a token that is genuine and has not expired, otherwise `undefined`. */
  verify(token: string): VerifiedClaims | undefined;
}

const payloadShape = z.object({
  client_id: z.string().optional(),
  login_id: z.string(),
  sub: z.string(),
  profile: z.string(),
  scope: z.string(),
  subscription_id: z.string().optional(),
  membership_id: z.string().optional(),
  session_id: z.string().optional(),
  refresh_secret: z.string().optional(),
  exp: z.number(),
  iat: z.number(),
  iss: z.string(),
});

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Compares two strings in a time that does not depend on where they differ. */
export function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * @param key - secret with which tokens are signed (HS256)
 * @see https://www.rfc-editor.org/rfc/rfc7519
 */
export function createTokens(key: string, issuer: () => string, now: () => Date): Tokens {
  const header = encode({ alg: 'HS256', typ: 'JWT' });
  const sign = (content: string): string => createHmac('sha256', key).update(content).digest('base64url');
  return {
    issue(claims, lifetime) {
      const iat = Math.floor(now().getTime() / 1000);
      const payload = { ...claims, username: claims.sub, iss: issuer(), iat, exp: iat + lifetime };
      const content = `${header}.${encode(payload)}`;
      return `${content}.${sign(content)}`;
    },
    verify(token) {
      const [head = '', body = '', signature = ''] = token.split('.');
      const parsed = isSame(sign(`${head}.${body}`), signature) ? payloadShape.safeParse(decode(body)) : undefined;
      if (!parsed?.success || parsed.data.exp * 1000 <= now().getTime()) {
        return undefined;
      }
      return parsed.data;
    },
  };
}
