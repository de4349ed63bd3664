import { type Caller, fingerprint } from '../medplum/current-profile.ts';
import { createMemory } from '../medplum/memory.ts';
import type { OpenedToken, SealedTokens } from './sealed-token.ts';

/** A token that was presented, in the form that Medplum accepts. */
interface PresentedToken {
  /** The `Authorization` header for Medplum. */
  readonly authorization: string;
  /** Whether it was sealed: it is worth nothing at Medplum itself. */
  readonly isSealed: boolean;
}

/** Reads the tokens that callers present. */
export interface AccessTokens {
  /** A token that was read recently, or that needs no reading; `undefined` for all others. */
  readonly recall: (authorization: string) => PresentedToken | undefined;
  /** A token; `undefined` if it cannot be one of the service or of Medplum. */
  readonly read: (authorization: string) => Promise<PresentedToken | undefined>;
  /** Whether a caller may present this kind of token. */
  readonly admits: (presented: PresentedToken, caller: Caller) => boolean;
}

/** The longest token, in characters. Medplum's are shorter than 2,000, and sealing doubles them. */
const mostCharacters = 8_192;

const memorySize = 1_000;
const rememberedMs = 600_000;

/** Whether a caller is a program that acts for someone other than the clinic: a requestor or a consumer. */
export function isPortal({ profileType, role }: Caller): boolean {
  return profileType === 'ClientApplication' && role === 'requestor';
}

/** The treatment of portals' unsealed credentials. */
export type UnsealedPolicy = 'refused' | 'accepted';

/**
 * Reads sealed tokens, and those of Medplum that staff present. What was opened is remembered for ten minutes, but not
 * beyond its expiry, under the fingerprint of the sealed token.
 *
 * @param unsealed - what happens to Medplum's own tokens if a portal presents them
 */
export function createAccessTokens(
  { isSealed, open }: SealedTokens,
  unsealed: UnsealedPolicy,
  now: () => number,
): AccessTokens {
  const opened = createMemory<OpenedToken>(memorySize, rememberedMs, now);
  const tokenIn = (authorization: string): string => authorization.slice(authorization.lastIndexOf(' ') + 1);
  const presented = ({ token }: OpenedToken): PresentedToken => ({ authorization: `Bearer ${token}`, isSealed: true });
  const recall: AccessTokens['recall'] = (authorization) => {
    if (authorization.length > mostCharacters) {
      return undefined;
    }
    const remembered = opened.get(fingerprint(authorization));
    if (remembered) {
      return remembered.expires * 1000 > now() ? presented(remembered) : undefined;
    }
    return isSealed(tokenIn(authorization)) ? undefined : { authorization, isSealed: false };
  };
  return {
    recall,
    read: async (authorization) => {
      const recalled = recall(authorization);
      if (recalled || authorization.length > mostCharacters) {
        return recalled;
      }
      const token = await open(tokenIn(authorization));
      if (!token) {
        return undefined;
      }
      opened.set(fingerprint(authorization), token);
      return presented(token);
    },
    admits: (token, caller) => token.isSealed || !isPortal(caller) || (unsealed === 'accepted' && !caller.isAssistant),
  };
}
