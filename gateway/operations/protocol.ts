import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { httpProblems, outcomeOf, problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';

/**
 * The problem of the header `Host`, if any. HTTP/1.1 requires exactly one: a proxy could read two differently.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): FhirResponse | undefined {
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  const isRight = count === 1 || (count === 0 && httpVersion === '1.0');
  return isRight ? undefined : problem('bad-request', `A request must have exactly one Host header, not ${count}.`);
}

/** Answers an unknown `Expect` with an OperationOutcome; Node would answer it without a body. */
export function addProtocolChecks(app: FastifyInstance): void {
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const name = 'expectation-failed';
    response.writeHead(httpProblems[name].status, {
      'content-type': 'application/fhir+json; charset=utf-8',
      connection: 'close',
    });
    response.end(JSON.stringify(outcomeOf(name)));
  });
}
