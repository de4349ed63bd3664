import { describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import {
  asStored,
  knownTypes,
  publicSubscription,
  typeQuery,
} from '../../../../core/notifications/subscription/channel.ts';

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

  it('is shown without its headers', () => {
    const shown = publicSubscription(
      withChannel({ type: 'rest-hook', endpoint: 'https://x.example', header: ['A: secret'] }),
    );
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(shown.channel.endpoint).toBe('https://x.example');
  });

  it.each(['message', 'email', '', 'Websocket'])('%j is found by no search', (type) => {
    expect(typeQuery(type)).toBe('none');
  });

  it('is searched by several types', () => {
    expect(typeQuery('websocket,email,rest-hook')).toBe('message,none,rest-hook');
  });

  it('has one of these types, on the wire or in Medplum', () => {
    expect([...knownTypes].sort()).toEqual(['message', 'rest-hook', 'websocket']);
  });
});
