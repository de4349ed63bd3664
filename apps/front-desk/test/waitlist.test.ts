import { expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { offerExtensions } from '../../../core/booking/appointment/expiry.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { entriesIn, filledIn } from '../waitlist/entries.ts';

const config = loadConfig();
const now = Date.parse('2027-01-04T10:00:00Z');

const entry = (id: string, created: string, more: Partial<Appointment> = {}): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'waitlist',
  created,
  requestedPeriod: [{ start: '2027-01-05T00:00:00Z', end: '2027-01-06T00:00:00Z' }],
  participant: [{ actor: { reference: 'Patient/1' }, status: 'accepted' }],
  ...more,
});

const offer = (id: string, until: number): Appointment => ({
  resourceType: 'Appointment',
  id: `offer-${id}`,
  status: 'proposed',
  start: '2027-01-05T09:00:00Z',
  end: '2027-01-05T09:30:00Z',
  participant: [{ status: 'accepted' }],
  extension: offerExtensions({ reason: 'waitlist', for: [id], until }, config),
});

test('who waits stands in the order of being asked, with what is offered and not over', () => {
  const found = [
    { resourceType: 'Patient', id: '1', name: [{ family: 'Muster' }] },
    entry('late', '2027-01-03T00:00:00Z'),
    entry('early', '2027-01-02T00:00:00Z'),
    entry('first', '2027-01-04T00:00:00Z', { priority: 1 }),
    entry('over', '2027-01-01T00:00:00Z', {
      requestedPeriod: [{ start: '2027-01-02T00:00:00Z', end: '2027-01-03T00:00:00Z' }],
    }),
    offer('early', now + 60_000),
    offer('late', now - 60_000),
  ];
  const seen = entriesIn(found, now, config).map(({ id, patient, offer: one }) => [id, patient?.id, one?.until]);
  expect(seen).toEqual([
    ['first', '1', undefined],
    ['early', '1', now + 60_000],
    ['late', '1', undefined],
  ]);
});

test('what those who waited have taken is counted by whose time it is', () => {
  const filled = (id: string, display: string, end: string): Appointment => ({
    ...offer(id, now),
    status: 'booked',
    end,
    participant: [{ actor: { reference: 'Practitioner/1', display }, status: 'accepted' }],
  });
  const others = { ...filled('d', 'Dr. B', '2027-01-05T10:00:00Z'), extension: [] };
  const appointments = [
    filled('a', 'Dr. A', '2027-01-05T09:10:00Z'),
    filled('b', 'Dr. B', '2027-01-05T09:30:00Z'),
    filled('c', 'Dr. B', '2027-01-05T09:20:00Z'),
    others,
    null,
  ];
  expect(filledIn(appointments, config)).toEqual([
    { whom: 'Dr. B', count: 2, minutes: 50 },
    { whom: 'Dr. A', count: 1, minutes: 10 },
  ]);
});

test.each([
  [null],
  [{ resourceType: 'Appointment', status: 'waitlist', requestedPeriod: [null], participant: [null] }],
  [{ resourceType: 'Appointment', status: 'proposed', extension: [null] }],
])('%p stops nothing', (broken) => {
  expect(() => entriesIn([broken, entry('a', '2027-01-02T00:00:00Z')], now, config)).not.toThrow();
});
