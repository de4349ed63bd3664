import type { BotEvent } from '@medplum/core';
import type { Requestor } from './booking/book.ts';

/** Medplum 5.0 tells its VM context who calls, and forgets to tell the handler (mended by medplum#7929). */
function requesterInContext(): BotEvent['requester'] {
  const { event } = globalThis as { readonly event?: Pick<BotEvent, 'requester'> };
  return event?.requester;
}

/**
 * Who has called a Bot, with the credentials that came with the call: the Bot reads no more than its caller may.
 *
 * @throws Error when Medplum does not say who calls: what is written would belong to nobody
 */
export function callerOf({ requester = requesterInContext(), headers }: BotEvent<unknown>): Requestor {
  const [, id] = requester?.reference?.split('/') ?? [];
  if (!id) {
    throw new Error(
      'This version of Medplum does not tell Bots who calls them: upgrade it, see docs/operators.md, Medplum 5.0.',
    );
  }
  return { id, authorization: headers?.authorization?.toString() };
}
