import { describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import { asStored, publicSubscription, typeQuery } from '../../../../core/notifications/subscription/channel.ts';

const withChannel = (channel: Subscription['channel']): Subscription => ({
  resourceType: 'Subscription',
  status: 'active',
  reason: 'Test',
  criteria: 'urn:topic',
  channel,
});

describe('the channel of a Subscription', () => {
  it.each<[Subscription['channel']['type'], Subscription['channel']['type']]>([
    ['rest-hook', 'rest-hook'],
    ['websocket', 'message'],
  ])('%s is stored as %s, and shown as it was sent', (sent, stored) => {
    const subscription = withChannel({ type: sent, payload: 'application/fhir+json' });
    expect(asStored(subscription).channel).toEqual({ type: stored, payload: 'application/fhir+json' });
    expect(publicSubscription(asStored(subscription))).toEqual(subscription);
    expect(publicSubscription(publicSubscription(subscription))).toEqual(subscription);
  });

  it.each(['message', 'email', '', 'Websocket'])('%j is found by no search', (type) => {
    expect(typeQuery(type)).toBe('none');
  });
});
