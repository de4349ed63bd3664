import { describe, expect, it } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import {
  messageQuery,
  messageResource,
  messageSubscription,
  notificationIn,
} from '../../../../core/notifications/delivery/message.ts';
import { config } from '../support.ts';

const bundle: Bundle = { resourceType: 'Bundle', type: 'history', id: 'b' };

describe('the message of a Subscription', () => {
  it('carries a notification, for the owner of the Subscription', () => {
    const message = messageResource(bundle, 'sub', 'portal', config);
    expect(notificationIn(message)).toEqual(bundle);
    expect(message).toEqual({
      resourceType: 'Communication',
      meta: { tag: [requestorTag('portal', config)] },
      identifier: [{ system: artefactUri(config, 'LocalEvent'), value: 'sub/last' }],
      status: 'completed',
      partOf: [{ reference: 'Subscription/sub' }],
      payload: [{ contentString: JSON.stringify(bundle) }],
    });
  });

  it('is overwritten by the next one', () => {
    const stored = { ...messageResource(bundle, 'sub', 'portal', config), id: 'm' };
    const next = messageResource({ ...bundle, id: 'c' }, 'sub', 'portal', config, stored);
    expect([next.id, notificationIn(next)?.id]).toEqual(['m', 'c']);
    expect(next.identifier).toEqual(stored.identifier);
  });

  it('is found by the criteria that Medplum is given for the one who binds', () => {
    const given = messageSubscription('sub', 'binder', config);
    const [identifier] = messageResource(bundle, 'sub', 'portal', config).identifier ?? [];
    const query = new URLSearchParams(messageQuery('sub', config).split('?')[1]);
    expect(given.criteria).toBe(messageQuery('sub', config));
    expect(query.get('identifier')).toBe(`${identifier?.system}|${identifier?.value}`);
    expect(given).toEqual({
      resourceType: 'Subscription',
      meta: { tag: [requestorTag('binder', config)] },
      status: 'active',
      reason: 'Messages of Subscription/sub',
      criteria: messageQuery('sub', config),
      channel: { type: 'websocket' },
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['another resource', { resourceType: 'Patient' }],
    ['an event', { resourceType: 'Communication', status: 'completed' }],
    ['a number', { resourceType: 'Communication', payload: [{ contentString: 7 }] }],
    ['an empty payload', { resourceType: 'Communication', payload: [] }],
    ['no JSON', { resourceType: 'Communication', payload: [{ contentString: '{' }] }],
    ['no Bundle', { resourceType: 'Communication', payload: [{ contentString: '{"resourceType":"Patient"}' }] }],
    ['a payload of another shape', { resourceType: 'Communication', payload: 'x' }],
  ])('%s carries none', (_, resource) => {
    expect(notificationIn(resource)).toBeUndefined();
  });
});
