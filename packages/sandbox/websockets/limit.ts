import { badRequest, OperationOutcomeError } from '@medplum/core';
import type { RepositoryContext } from '../repository/context.ts';
import type { StoredResource } from '../storage/change.ts';

/** Medplum's `defaultMaxUserWebSocketSubscriptions`. */
const limit = 20;

/**
 * Throws if a caller that adds a Subscription over websockets has too many of them bound. Unbound ones do not count.
 *
 * @throws OperationOutcomeError (400)
 */
export function assertBelowLimit({ platform, caller }: RepositoryContext, resource: StoredResource): void {
  if (resource.resourceType !== 'Subscription' || resource.channel.type !== 'websocket') {
    return;
  }
  if (platform.boundSubscriptions(caller.author.reference ?? '') >= limit) {
    const text = `User has exceeded allotted maximum number of concurrent WebSocket subscriptions: ${limit}`;
    throw new OperationOutcomeError(badRequest(text));
  }
}
