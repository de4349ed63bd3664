import type { MedplumResponse, Upstream, UpstreamFailure } from '../medplum/client.ts';

/** A request of a Bot to Medplum: a POST with a body, else a GET. */
interface BotRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** Why a request has no answer, in the words of the Bots: it was never sent, was lost, or took too long. */
type Unanswered = 'not-connected' | 'no-answer' | 'too-late';

/** A response of Medplum. */
interface BotAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The connections by which the Bots that the gateway itself runs reach Medplum. */
export interface BotConnections {
  readonly send: (request: BotRequest, limit: number) => Promise<BotAnswer | Unanswered>;
}

/** A request to a server that did not answer may have been carried out; a request that was never sent was not. */
function unanswered({ failure, isUnsent }: UpstreamFailure): Unanswered {
  return failure === 'timeout' ? 'too-late' : isUnsent ? 'not-connected' : 'no-answer';
}

/**
 * Lets Bots use the gateway's own connections to Medplum, with their limits.
 *
 * @param baseUrl - Medplum's base address, with a slash at its end; every address that a Bot calls begins with it
 * @param onResponse - called with each response and the `Authorization` header of its request
 */
export function createBotConnections(
  upstream: Upstream,
  baseUrl: string,
  onResponse: (response: MedplumResponse, authorization: string | undefined) => void,
): BotConnections {
  return {
    send: async ({ url, headers, body }, limit) => {
      const [path = '', query] = url.slice(baseUrl.length).split('?');
      const response = await upstream.call({
        method: body === undefined ? 'GET' : 'POST',
        path,
        headers,
        timeoutMs: limit,
        ...(query !== undefined && { query }),
        ...(body !== undefined && { body }),
      });
      if ('failure' in response) {
        return unanswered(response);
      }
      onResponse(response, headers.authorization);
      return response;
    },
  };
}
