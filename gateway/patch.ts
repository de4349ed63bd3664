import type { Parameters } from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';
import { isId } from '../fhir/reference.ts';
import { isResource } from '../fhir/resource.ts';
import { type Answer, preferred, versionHeaders } from './answer.ts';
import { ownRefusal } from './book-answer.ts';
import { botProblem, callBot } from './call-bot.ts';
import type { Handler } from './exchange.ts';
import { ifMatchVersion } from './if-match.ts';
import { problem, refusal } from './problems.ts';
import { isOutcome } from './upstream-problems.ts';

/** A request to patch an appointment, as it is handed to the Bot. */
function patchInput(id: string, patch: unknown, ifMatch: string | undefined): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'id', valueId: id },
      ...(ifMatch === undefined ? [] : [{ name: 'ifMatch', valueString: ifMatch }]),
      isResource(patch, 'Parameters')
        ? { name: 'patch', resource: patch }
        : { name: 'patch', valueString: JSON.stringify(patch) },
    ],
  };
}

/** The Bot's word that an appointment is not there, or not for this caller. Medplum's own 404 has no diagnostics. */
export function absence(body: unknown): Answer | undefined {
  const issue = isOutcome(body) ? body.issue[0] : undefined;
  if (issue?.diagnostics && issue.code === 'not-found') {
    return problem('not-found', issue.diagnostics);
  }
  return issue?.diagnostics && issue.code === 'deleted' ? problem('gone', issue.diagnostics) : undefined;
}

/**
 * The answer to a patch: status and headers as a function of what the Bot answered.
 *
 * @returns `undefined` if the Bot has failed
 */
export function patchAnswer(body: unknown, config: BookingConfig): Answer | undefined {
  return isResource(body, 'Appointment')
    ? { status: 200, headers: versionHeaders(body), resource: body }
    : (ownRefusal(body, config, 'patch') ?? absence(body));
}

/**
 * `PATCH /Appointment/{id}`: hands the patch to the Bot `patch` with the caller's own token and answers with what came
 * of it. Every rule is the Bot's.
 *
 * @see specification 4.5; https://hl7.org/fhir/R4/http.html#patch
 */
export const patchAppointment: Handler = async (exchange, context) => {
  const { id } = exchange.params;
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  if (!isId(id)) {
    return problem('not-found');
  }
  if ('code' in ifMatch) {
    return refusal([ifMatch], context.config);
  }
  const answer = await callBot('patch', patchInput(id, exchange.body, ifMatch.version), exchange, context);
  const patched = 'failure' in answer ? undefined : patchAnswer(answer.body, context.config);
  return patched ? preferred(patched, exchange.returnPreference) : botProblem(answer, context);
};
