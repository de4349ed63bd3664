import { badRequest, OperationOutcomeError } from '@medplum/core';
import type { RepositoryContext } from '../repository/context.ts';
import type { StoredResource } from '../storage/change.ts';

/** Medplum's `defaultMaxUserWebSocketSubscriptions`. */
const defaultLimit = 20;

/**
 * Refuses a further Subscription over websockets to a caller that has too many of them bound; unbound ones do not count.
 * The project's system setting `maxUserWebSocketSubscriptions` sets the limit.
 *
 * @throws OperationOutcomeError (400)
 */
export function assertBelowLimit({ platform, caller }: RepositoryContext, resource: StoredResource): void {
  if (resource.resourceType !== 'Subscription' || resource.channel.type !== 'websocket') {
    return;
  }
  const setting = caller.project?.systemSetting?.find(({ name }) => name === 'maxUserWebSocketSubscriptions');
  const limit = setting?.valueInteger ?? defaultLimit;
  if (platform.boundSubscriptions(caller.author.reference ?? '') >= limit) {
    const text = `User has exceeded allotted maximum number of concurrent WebSocket subscriptions: ${limit}`;
    throw new OperationOutcomeError(badRequest(text));
  }
}
