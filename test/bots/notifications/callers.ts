import type { BotEvent } from '@medplum/core';
import type { OperationOutcome, Resource } from '@medplum/fhirtypes';

/** Somebody who calls Bots: the id of its profile, and its credentials. */
export interface Caller {
  readonly id: string;
  readonly authorization: string;
}

/** The administrator of the project, who may do everything in Medplum. */
export const administrator: Caller = { id: 'admin', authorization: 'Bearer admin' };

/** What a Bot is given when somebody calls it. */
export const eventOf = ({ id, authorization }: Caller, input: unknown): BotEvent<unknown> =>
  ({
    input,
    requester: { reference: `ClientApplication/${id}` },
    headers: { authorization },
  }) as unknown as BotEvent<unknown>;

const issuesIn = (answer: Resource): OperationOutcome['issue'] =>
  answer.resourceType === 'OperationOutcome' ? answer.issue : [];

/** Why a Bot has refused something: the codes of the service, else those of FHIR; none if it has not. */
export const codesIn = (answer: Resource) =>
  issuesIn(answer).map(({ details, code }) => details?.coding?.[0]?.code ?? code);

/** What a Bot says of its first reason to refuse something. */
export const textOf = (answer: Resource): string => issuesIn(answer)[0]?.diagnostics ?? '';

/** The states of Subscriptions in an answer, each with what it says by the names of its parameters. */
export function statesIn(answer: Resource): Record<string, unknown>[] {
  const all = answer.resourceType === 'Bundle' ? (answer.entry ?? []).map(({ resource }) => resource) : [];
  return all.flatMap((one) =>
    one?.resourceType === 'Parameters'
      ? [
          Object.fromEntries(
            (one.parameter ?? []).map(({ name, valueReference, valueCodeableConcept, ...rest }) => [
              name,
              valueReference?.reference ?? valueCodeableConcept?.text ?? Object.values(rest)[0],
            ]),
          ),
        ]
      : [],
  );
}
