import type { OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';
import type { BookRequest } from './request.ts';

/**
 * Says in the terms of the request why the server found what was to be written not to be valid FHIR.
 *
 * @param outcome - as answered to the transaction; its expressions begin with the type of the resource at fault
 * @returns a `malformed-request` for each of its issues, with the path of the element in the request
 */
export function serverRejectionIssues(outcome: OperationOutcome, request: BookRequest): Issue[] {
  const inputs = [request.appointment, request.patient, request.relatedPerson, ...request.answers];
  return outcome.issue.map(({ expression, details, diagnostics }) => {
    const found = expression?.[0];
    const [type = '', ...rest] = found?.split('.') ?? [];
    const input = inputs.find((candidate) => candidate?.value.resourceType === type);
    return {
      code: 'malformed-request',
      diagnostics: details?.text ?? diagnostics ?? 'The server rejected the request as invalid.',
      ...(found && { expression: input ? [input.path, ...rest].join('.') : found }),
    };
  });
}
