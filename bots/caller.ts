import type { BotEvent } from '@medplum/core';
import type { Requestor } from './booking.ts';

/** Who has called a Bot, with the credentials that came with the call: the Bot reads no more than its caller may. */
export function callerOf({ requester, headers }: BotEvent<unknown>): Requestor {
  const authorization = headers?.authorization;
  return { id: requester?.reference?.split('/')[1] ?? '', authorization: authorization?.toString() };
}
