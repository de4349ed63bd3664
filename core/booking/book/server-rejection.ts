import type { OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { serverRejectionIssues } from '../../fhir/outcome/server-outcome.ts';
import { type BookRequest, eachOf } from './request/request.ts';

/**
 * Reports a transaction that the server rejected as invalid FHIR, in terms of the request.
 *
 * @param outcome - the response to the transaction; its expressions begin with the type of the resource at fault
 * @returns a `malformed-request` for each of its issues, with the path of the element in the request
 */
export function bookingRejectionIssues(outcome: OperationOutcome, request: BookRequest): Issue[] {
  const inputs = [
    ...eachOf(request).map(({ appointment }) => appointment),
    request.patient,
    request.relatedPerson,
    ...request.answers,
  ];
  return serverRejectionIssues(outcome, 'malformed-request', 'request', (expression) => {
    const [type, ...rest] = expression.split('.');
    const input = inputs.find((candidate) => candidate?.value.resourceType === type);
    return input ? [input.path, ...rest].join('.') : expression;
  });
}
