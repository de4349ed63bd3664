import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';
import { isBundle, publicBundle, publicResource } from '../../../gateway/medplum/public-resources.ts';
import { base, config } from '../fake-medplum.ts';

const addresses = createAddresses(config, ['http://medplum:8103/']);
const slot = { resourceType: 'Slot', id: 's1' };
const channel = { type: 'rest-hook', endpoint: 'https://portal.example', header: ['Authorization: secret'] };
const shownChannel = { type: 'rest-hook', endpoint: 'https://portal.example' };

describe('a resource', () => {
  test('is shown if it is of the type that was asked for', () => {
    expect(publicResource(slot, 'Slot')).toEqual(slot);
    const others: unknown[] = [slot, null, undefined, 'x', {}, { resourceType: 'Bot' }];
    expect(others.map((one) => publicResource(one, 'Patient'))).toEqual(others.map(() => undefined));
  });

  test('keeps the secrets of its channel', () => {
    const subscription = { resourceType: 'Subscription', id: 'u1', channel };
    expect(publicResource(subscription, 'Subscription')).toEqual({ ...subscription, channel: shownChannel });
    const bare = { resourceType: 'Subscription', id: 'u1' };
    expect(publicResource(bare, 'Subscription')).toEqual(bare);
  });
});

describe('a search result', () => {
  const bundleOf = (more: object) => ({ resourceType: 'Bundle', type: 'searchset', ...more }) as Bundle;
  const shown = (more: object) => publicBundle(bundleOf(more), 'Slot', addresses);

  test('names the addresses of the service', () => {
    const medplum = 'http://medplum:8103/fhir/R4';
    const link = [
      { relation: 'self', url: `${medplum}/Slot?status=free` },
      { relation: 'next', url: `${medplum}/Slot?_cursor=x`, id: 'y' },
      { relation: 'other', url: `${medplum}/Bot?x` },
      { relation: 'strange', url: 'http://elsewhere.example/Slot' },
      { relation: 'none' },
      { url: `${medplum}/Slot` },
      null,
    ];
    const entry = [{ fullUrl: `${medplum}/Slot/s1`, resource: slot, search: { mode: 'match' } }];
    expect(shown({ total: 1, link, entry })).toEqual({
      ...bundleOf({ total: 1 }),
      link: [
        { relation: 'self', url: `${base}/Slot?status=free` },
        { relation: 'next', url: `${base}/Slot?_cursor=x` },
      ],
      entry: [{ fullUrl: `${base}/Slot/s1`, resource: slot, search: { mode: 'match' } }],
    });
  });

  test('has no entries of types that are not served, nor secrets', () => {
    const subscription = { resourceType: 'Subscription', id: 'u1', channel };
    const entry = [
      { resource: { resourceType: 'Bot', id: 'b' } },
      {},
      null,
      'x',
      { resource: 'y' },
      { resource: subscription },
    ];
    expect(shown({ entry }).entry).toEqual([
      { fullUrl: `${base}/Subscription/u1`, resource: { ...subscription, channel: shownChannel } },
    ]);
  });

  test('without links and entries has an empty list of links', () => {
    expect(shown({ link: 'x' })).toEqual(bundleOf({ link: [] }));
    expect(shown({ entry: [] })).toEqual(bundleOf({ link: [] }));
  });
});

test.each([
  [{ resourceType: 'Bundle' }, true],
  [{ resourceType: 'Bundle', entry: [] }, true],
  [{ resourceType: 'Bundle', entry: {} }, false],
  [{ resourceType: 'Slot' }, false],
  [null, false],
])('%j is a Bundle: %s', (value, expected) => {
  expect(isBundle(value)).toBe(expected);
});
