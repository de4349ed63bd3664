import type { BotEvent } from '@medplum/core';
import type { AccessPolicy, Bundle, OperationOutcome, Parameters, Resource, Task } from '@medplum/fhirtypes';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { noOutboxes, outboxesTask } from '../../../core/notifications/delivery/outbox.ts';
import { config } from '../config.ts';
import type { BotServer } from '../medplum.ts';

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

type Rights = NonNullable<AccessPolicy['resource']>;

/** The right to read everything. */
export const reader: Rights = [{ resourceType: '*', interaction: ['read', 'search', 'history'] }];

/** A caller with these rights, by default to read everything, of whom the service knows already. */
export async function knownCaller(server: BotServer, resource: Rights = reader): Promise<Caller> {
  const caller = await server.addClient('Caller', resource);
  await server.create<Task>(outboxesTask(noOutboxes(caller.id), config));
  return caller;
}

/** Whoever sees the Subscriptions of an owner, and all that is asked for besides. */
export function seeingThoseOf(server: BotServer, owner: string, more: Rights = []): Promise<Caller> {
  const criteria = `Subscription?_tag=${requestorTag('', config).system}|${owner}`;
  return server.addClient('Portal', [{ resourceType: 'Subscription', criteria }, ...more]);
}

/** What the operations of Subscriptions answer. */
export type Told = Bundle | Parameters | OperationOutcome;
