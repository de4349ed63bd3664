import { describe, expect, it } from '@jest/globals';
import type { Coding, Subscription } from '@medplum/fhirtypes';
import fc from 'fast-check';
import {
  activeTagQuery,
  hasStoredStatus,
  statusQuery,
  withPublicStatus,
  withStoredStatus,
} from '../../../../core/notifications/subscription/stored-status.ts';

const statuses = ['requested', 'active', 'error', 'off'] as const;

const other: Coding = { system: 'urn:other', code: 'active' };
const [system, code] = activeTagQuery.split('|') as [string, string];
const active: Coding = { system, code };

const aSubscription = (status: Subscription['status'], tag?: Coding[]): Subscription => ({
  resourceType: 'Subscription',
  status,
  reason: 'Test',
  criteria: 'urn:topic',
  channel: { type: 'rest-hook', endpoint: 'https://x.example' },
  ...(tag && { meta: { versionId: '1', tag } }),
});

const anySubscription = fc.record({
  status: fc.constantFrom(...statuses),
  tag: fc.option(fc.array(fc.constantFrom(other, { code: 'active' }, { system: 'urn:other' })), { nil: undefined }),
});

describe('the status of a Subscription', () => {
  it('is shown as it was before it was stored; Medplum never has active', () => {
    fc.assert(
      fc.property(anySubscription, ({ status, tag }) => {
        const subscription = aSubscription(status, tag);
        const stored = withStoredStatus(subscription);
        expect(stored.status).toBe(status === 'active' ? 'requested' : status);
        const { tag: shown = [], ...meta } = withPublicStatus(stored).meta ?? {};
        expect({ status: withPublicStatus(stored).status, shown, meta }).toEqual({
          status,
          shown: tag ?? [],
          meta: tag ? { versionId: '1' } : {},
        });
        expect(withPublicStatus(withPublicStatus(stored))).toEqual(withPublicStatus(stored));
        expect(withStoredStatus(withPublicStatus(stored))).toEqual(stored);
        expect([hasStoredStatus(stored), hasStoredStatus(subscription)]).toEqual([true, status !== 'active']);
      }),
    );
  });

  it.each([
    ['requested', 'active'],
    ['active', 'active'],
    ['off', 'off'],
    ['error', 'error'],
  ] as const)('%s, set in Medplum where the service had left its tag, is %s', (status, shown) => {
    const stored = aSubscription(status, [other, active]);
    expect(withPublicStatus(stored)).toMatchObject({ status: shown, meta: { tag: [other] } });
    expect(hasStoredStatus(stored)).toBe(status === 'requested');
  });

  it.each(statuses.filter((status) => status !== 'active'))(
    'a subscriber cannot claim by a tag that %s is active',
    (status) => {
      const shouted = { system: system.toUpperCase(), code: 'Active' };
      expect(withStoredStatus(aSubscription(status, [active, other, shouted])).meta?.tag).toEqual([other]);
    },
  );

  it('is read where the tags are broken', () => {
    const broken = { ...aSubscription('requested'), meta: { tag: 'active' as unknown as Coding[] } };
    expect(withPublicStatus(broken)).toEqual(broken);
    expect(withPublicStatus(aSubscription('requested', [null as unknown as Coding])).status).toBe('requested');
  });

  const tagged = `(status eq "requested" and _tag eq "${activeTagQuery}")`;
  const untagged = `(status eq "requested" and _tag ne "${activeTagQuery}")`;

  it.each<[string, boolean, string]>([
    ['off', false, '(status eq "off")'],
    ['active', false, `${tagged} or (status eq "active")`],
    ['requested,error', false, `${untagged} or (status eq "error")`],
    ['off, off', false, '(status eq "off")'],
    ['nothing', false, '(status eq "none")'],
    ['off" or status eq "active', false, '(status eq "none")'],
    ['requested,off', true, `${tagged} or (status eq "active") or (status eq "error")`],
    ['requested,active,error,off', true, '(status eq "none")'],
  ])('a search for %j (not: %s) is %s', (value, isNot, expected) => {
    expect(statusQuery(value, isNot)).toEqual({ name: '_filter', value: expected });
  });
});
