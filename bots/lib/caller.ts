import type { BotEvent } from '@medplum/core';
import type { Requestor } from './booking/decide.ts';

/**
 * Who called a Bot, with the credentials that came with the call: the Bot reads no more than its caller may.
 *
 * @throws Error when Medplum does not identify the caller: the result would have no owner
 */
export function callerOf({ requester, headers }: BotEvent<unknown>): Requestor {
  const [, id] = requester?.reference?.split('/') ?? [];
  if (!id) {
    throw new Error('Medplum does not identify the caller to this Bot: the service needs Medplum 5.1 or later.');
  }
  return { id, reference: requester, authorization: headers?.authorization?.toString() };
}
