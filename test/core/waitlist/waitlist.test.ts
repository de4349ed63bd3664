import { expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { positionOf } from '../../../core/waitlist/entry.ts';

const now = Date.parse('2027-01-04T10:00:00Z');

const entry = (id: string, created: string, more: Partial<Appointment> = {}): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'waitlist',
  created,
  serviceType: [{ coding: [{ system: 'urn:services', code: 'ct' }] }],
  requestedPeriod: [{ start: '2027-01-05T00:00:00Z', end: '2027-01-06T00:00:00Z' }],
  participant: [],
  ...more,
});

test('a place counts those who wait for the same, are asked before, and whose wishes are not over', () => {
  const own = entry('own', '2027-01-03T00:00:00Z');
  const mri = [{ coding: [{ system: 'urn:services', code: 'mri' }] }];
  const over = [{ start: '2027-01-02T00:00:00Z', end: '2027-01-03T00:00:00Z' }];
  const others = [
    entry('earlier', '2027-01-02T00:00:00Z'),
    entry('later', '2027-01-04T00:00:00Z'),
    entry('first', '2027-01-04T00:00:00Z', { priority: 1 }),
    entry('for something else', '2027-01-01T00:00:00Z', { serviceType: mri }),
    entry('over', '2027-01-01T00:00:00Z', { requestedPeriod: over }),
  ];
  expect(positionOf(own, [own, ...others], now)).toBe(3);
});
