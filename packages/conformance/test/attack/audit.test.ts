import { expect, test } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { audit, type Version } from '../../audit/audit.ts';
import { readHistories } from '../../audit/read.ts';
import type { Client } from '../../client.ts';
import { otherServer } from './other-server.ts';

const day = '2031-03-03';
const clock = (time: string): string => `${day}T${time}:00Z`;
const NINE = { start: clock('09:00'), end: clock('09:30') };

const slot = (id: string, at: number, status: Slot['status'], more: Partial<Slot> = {}): Version => ({
  type: 'Slot',
  id,
  at: at * 1_000,
  resource: { resourceType: 'Slot', id, status, schedule: { reference: 'Schedule/s' }, ...NINE, ...more },
});

const visit = (
  id: string,
  at: number,
  status: Appointment['status'],
  named = 'x',
  more: Partial<Appointment> = {},
): Version => ({
  type: 'Appointment',
  id,
  at: at * 1_000,
  resource: {
    resourceType: 'Appointment',
    id,
    status,
    slot: [{ reference: `Slot/${named}` }],
    participant: [],
    ...NINE,
    ...more,
  },
});

const rules = (capacity = 1) => ({
  termsOf: () => ({ capacity, before: 0, after: 0 }),
  within: 5_000,
  now: 1_000_000,
});

const inPlaceOf = (id: string): Partial<Appointment> => ({
  extension: [
    {
      url: 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces',
      valueReference: { reference: `Appointment/${id}` },
    },
  ],
});
const asked = [
  slot('x', 0, 'busy-tentative'),
  visit('a', 10, 'pending', 'x', {
    extension: [
      {
        url: 'https://example.org/fhir/StructureDefinition/LocalConfirmationDeadline',
        valueInstant: '1970-01-01T00:00:30Z',
      },
    ],
  }),
];
const late = { start: clock('09:15'), end: clock('09:45') };
const sound = [slot('x', 0, 'free'), slot('x', 10, 'busy'), visit('a', 10, 'booked')];

const cases: readonly (readonly [string, readonly Version[], readonly unknown[], number?])[] = [
  ['booked, cancelled, given back', [...sound, visit('a', 20, 'cancelled'), slot('x', 20, 'free')], []],
  [
    'two appointments have one Slot',
    [...sound, visit('b', 15, 'booked'), visit('b', 30, 'cancelled')],
    [['sold twice', 15, 30]],
  ],
  [
    'two appointments overlap',
    [...sound, slot('y', 0, 'busy', late), visit('b', 15, 'booked', 'y', late)],
    [['sold twice', 15, undefined]],
  ],
  ['two places', [...sound, slot('y', 0, 'busy', late), visit('b', 15, 'booked', 'y', late)], [], 2],
  [
    'the Slot of an appointment is free',
    [...sound, slot('x', 40, 'free'), slot('x', 60, 'busy')],
    [['not bookable', 40, 60]],
  ],
  ['for a moment only', [...sound, slot('x', 40, 'free'), slot('x', 42, 'busy')], []],
  ['a free Slot lies over an appointment', [...sound, slot('y', 12, 'free', late)], [['not bookable', 12, undefined]]],
  ['a Slot is not given back', [...sound, visit('a', 20, 'cancelled')], [['lost', 20, undefined]]],
  ['a Slot is given back late', [...sound, visit('a', 20, 'cancelled'), slot('x', 90, 'free')], [['lost', 20, 90]]],
  ['a Slot is given back and taken by another', [...sound, visit('a', 20, 'cancelled'), visit('b', 20, 'booked')], []],
  ['nobody came, and the Slot stays taken', [...sound, visit('a', 20, 'noshow')], []],
  ['nobody came, and another is booked', [...sound, visit('a', 20, 'noshow'), visit('b', 21, 'booked')], []],
  [
    'a booking in place of another, in one transaction',
    [...sound, visit('b', 20, 'booked', 'x', inPlaceOf('a')), visit('a', 21, 'cancelled')],
    [],
  ],
  [
    'a booking in place of another that stays',
    [...sound, visit('b', 20, 'booked', 'x', inPlaceOf('a'))],
    [['sold twice', 20, undefined]],
  ],
  [
    'a request that nobody answers ends, and its time is booked at once',
    [...asked, visit('b', 35, 'booked'), visit('a', 40, 'cancelled')],
    [],
  ],
  [
    'a request that nobody answers ends, and its Slot is given back by the clock',
    [...asked, visit('a', 88, 'cancelled'), slot('x', 88, 'free')],
    [],
  ],
  [
    'a request that nobody answers ends, and its Slot is given back later',
    [...asked, visit('a', 88, 'cancelled'), slot('x', 97, 'free')],
    [['lost', 30, 97]],
  ],
  [
    'a request has still its time',
    [...asked, visit('b', 25, 'booked'), visit('a', 40, 'cancelled')],
    [['sold twice', 25, 30]],
  ],
  [
    'an open appointment is deleted',
    [...sound, slot('x', 30, 'free'), { type: 'Appointment', id: 'a', at: 30_000 }],
    [['lost', 30, undefined]],
  ],
];

test.each(cases)('%s', (_, versions, expected, capacity = 1) => {
  const found = audit(versions, rules(capacity)).map(({ kind, from, until }) => [
    kind,
    from / 1_000,
    until && until / 1_000,
  ]);
  expect(found).toEqual(expected);
});

test('histories are read page by page, and no further than the limit', async () => {
  const client = otherServer();
  for (let index = 0; index < 12; index++) {
    const body = { resourceType: 'Slot', status: 'free', schedule: { reference: 'Schedule/s' }, ...NINE };
    await client.send({ method: 'POST', path: '/Slot', body });
  }
  const histories = await readHistories({ client, limit: 100 });
  expect([histories.versions.length, histories.isCut]).toEqual([12, false]);
  const some = await readHistories({ client, limit: 5 });
  expect([some.versions.length, some.isCut]).toEqual([5, true]);
});

test('a history without times is refused by name, and pages without end, without entries or that come again end', async () => {
  const serving = (resource: (path: string) => unknown): Client => ({
    baseUrl: 'https://fhir.example.org',
    send: async ({ path }) => ({ status: 200, header: {}, text: '', resource: resource(path) }),
  });
  const untimed = serving(() => ({
    resourceType: 'Bundle',
    entry: [{ resource: { ...slot('x', 0, 'free').resource } }],
  }));
  await expect(readHistories({ client: untimed, limit: 5 })).rejects.toThrow(/^Slot\/x has no meta.lastUpdated/);
  let pages = 0;
  const endless = serving(() => ({
    resourceType: 'Bundle',
    link: [{ relation: 'next', url: `/Slot?page=${pages++}` }],
  }));
  expect(await readHistories({ client: endless, limit: 5 })).toEqual({ versions: [], isCut: true });
  expect(pages).toBe(4);
  const meta = { lastUpdated: '2030-01-07T08:00:00Z', versionId: '1' };
  const looping = serving((path) => ({
    resourceType: 'Bundle',
    entry: [{ resource: { ...slot('x', 0, 'free').resource, meta } }],
    link: [{ relation: 'next', url: path }],
  }));
  expect(await readHistories({ client: looping, limit: 50 })).toMatchObject({ isCut: true });
});
