import { expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { offerExtensions } from '../../../core/booking/appointment/expiry.ts';
import { nextOfferEnd } from '../../../core/waitlist/release.ts';
import { config } from '../booking/support.ts';

const [now, HOUR] = [Date.parse('2040-01-01T12:00:00Z'), 3_600_000];

const offer = (from: number, until: number, ended?: number): Appointment => ({
  resourceType: 'Appointment',
  status: ended === undefined ? 'proposed' : 'cancelled',
  created: new Date(now + from * HOUR).toISOString(),
  meta: { lastUpdated: new Date(now + (ended ?? until) * HOUR).toISOString() },
  extension: offerExtensions({ reason: 'waitlist', for: ['1'], until: now + until * HOUR }, config),
  participant: [],
});

test.each<[string, Appointment[], number | undefined]>([
  ['the first stands as long as the policy says', [], 2],
  ['who declines at once takes nothing from the next', [offer(-3, -1, -3), offer(-2, 0, -2)], 2],
  ['who lets it lapse leaves one more', [offer(-2, 0)], 2],
  ['the last stands for what is left', [offer(-5, -3), offer(-2, 0, -1)], 1],
  ['then it is everybody’s', [offer(-5, -3), offer(-2, 0)], undefined],
  ['what was offered weeks ago is another matter', [offer(-900, -800)], 2],
])('offers of one time: %s', (_, before, hours) => {
  const policy = { policy: { offerFor: 2 * HOUR }, saidBy: {}, isReadable: true };
  const end = nextOfferEnd(policy, now + 100 * HOUR, now, before, config);
  expect(end && (end - now) / HOUR).toBe(hours);
});
