import type { BotName } from '../config/bots.ts';
import { artefactUri } from '../config/config.ts';
import type { Answer } from './answer.ts';
import type { GatewayContext } from './context.ts';
import type { Exchange } from './exchange.ts';
import { problem } from './problems.ts';
import type { UpstreamAnswer, UpstreamFailure } from './upstream.ts';
import { isSuccess, upstreamProblem } from './upstream-problems.ts';

/** Statuses of Medplum that say: this caller may not execute the Bot. */
const notAllowed: readonly number[] = [403, 404];

/**
 * Calls a Bot of the service with the caller's own token.
 *
 * @param input - what the Bot gets as its input
 */
export function callBot(
  name: BotName,
  input: unknown,
  { upstreamHeaders }: Exchange,
  { upstream, config }: GatewayContext,
): Promise<UpstreamAnswer | UpstreamFailure> {
  return upstream.call({
    method: 'POST',
    path: 'fhir/R4/Bot/$execute',
    query: new URLSearchParams({ identifier: `${artefactUri(config, 'LocalBot')}|${name}` }).toString(),
    headers: { ...upstreamHeaders, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(input),
  });
}

/** The answer when a Bot gave none that the service knows: it may not be called, it has failed, or nobody answered. */
export function botProblem(answer: UpstreamAnswer | UpstreamFailure, { config }: GatewayContext): Answer {
  if ('status' in answer && notAllowed.includes(answer.status)) {
    return problem('forbidden');
  }
  const isBotFailure = isSuccess(answer) || ('status' in answer && answer.status === 400);
  return isBotFailure
    ? problem('bad-gateway', 'The request could not be carried out; whether something was written, a read tells.')
    : upstreamProblem(answer, config);
}
