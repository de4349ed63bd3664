import type { FastifyBaseLogger } from 'fastify';

/** The login of the gateway's own client. */
interface OwnToken {
  /** Whether the client has a token that is still valid; logs in if it has none. */
  readonly isThere: () => Promise<boolean>;
  /** Says that Medplum has refused the token: the next call logs in again. */
  readonly refused: () => void;
}

/**
 * Keeps the gateway's own client logged in. Calls that arrive during a login share it.
 *
 * @param logIn - logs in unless the client has a token that is still valid; with `anew` in any case. Rejects if Medplum
 *   refuses the login
 */
export function createOwnToken(
  logIn: (anew: boolean) => Promise<void>,
  logger: FastifyBaseLogger | undefined,
): OwnToken {
  let running: Promise<boolean> | undefined;
  let isRefused = false;
  const attempt = async (): Promise<boolean> => {
    const anew = isRefused;
    isRefused = false;
    try {
      await logIn(anew);
      return true;
    } catch (error) {
      isRefused ||= anew;
      logger?.error({ err: error }, 'Medplum does not let the gateway log in: check BOTS_CLIENT_ID and its secret.');
      return false;
    }
  };
  return {
    isThere: () => {
      running ??= attempt().finally(() => {
        running = undefined;
      });
      return running;
    },
    refused: () => {
      isRefused = true;
    },
  };
}
