import type { BotEvent } from '@medplum/core';
import type { AccessPolicy, Bundle, OperationOutcome, Parameters, Resource, Task } from '@medplum/fhirtypes';
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

type Rights = NonNullable<AccessPolicy['resource']>;

/** The right to read everything. */
export const reader: Rights = [{ resourceType: '*', interaction: ['read', 'search', 'history'] }];

/** A caller with these rights, by default to read everything, of whom the service knows already. */
export async function knownCaller(server: BotServer, resource: Rights = reader): Promise<Caller> {
  const caller = await server.addClient('Caller', resource);
  await server.create<Task>(outboxesTask(noOutboxes(caller.id), config));
  return caller;
}

/** What the operations of Subscriptions answer. */
export type Told = Bundle | Parameters | OperationOutcome;
