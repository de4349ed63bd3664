import { artefactUri } from '../config/config.ts';
import { preferred } from './answer.ts';
import { bookingAnswer } from './book-answer.ts';
import type { Handler } from './exchange.ts';
import { problem } from './problems.ts';
import { isSuccess, upstreamProblem } from './upstream-problems.ts';

/** Statuses of Medplum that say: this caller may not execute the Bot. */
const notAllowed: readonly number[] = [403, 404];

/**
 * `POST /Appointment/$book`: hands the body to the Bot `book` with the caller's own token and answers with what came of
 * it. Every rule is the Bot's.
 *
 * @see specification 4.4
 */
export const book: Handler = async ({ body, upstreamHeaders, returnPreference }, { upstream, config }) => {
  const answer = await upstream.call({
    method: 'POST',
    path: 'fhir/R4/Bot/$execute',
    query: new URLSearchParams({ identifier: `${artefactUri(config, 'LocalBot')}|book` }).toString(),
    headers: { ...upstreamHeaders, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(body),
  });
  const booking = 'failure' in answer ? undefined : bookingAnswer(answer.body, config);
  if (booking) {
    return preferred(booking, returnPreference);
  }
  if ('status' in answer && notAllowed.includes(answer.status)) {
    return problem('forbidden');
  }
  const isBotFailure = isSuccess(answer) || ('status' in answer && answer.status === 400);
  return isBotFailure
    ? problem('bad-gateway', 'The booking could not be carried out.')
    : upstreamProblem(answer, config);
};
