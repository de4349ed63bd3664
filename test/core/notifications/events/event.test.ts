import { describe, expect, test } from '@jest/globals';
import type { Communication } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  deliveredEvent,
  type Event,
  eventOf,
  eventResource,
  eventsQuery,
  missingEvents,
} from '../../../../core/notifications/events/event.ts';
import { at, begin, config } from '../support.ts';

const event: Event = { number: 3, timestamp: at(1), appointment: 'a1', version: 'v1', kind: 'create' };
const stored = eventResource(event, 's1', config);
const system = artefactUri(config, 'LocalEvent');

test('an event is kept in a Communication that is found by Subscription, appointment and number', () => {
  expect(stored).toEqual({
    resourceType: 'Communication',
    identifier: [{ system, value: 's1/3' }],
    status: 'preparation',
    partOf: [{ reference: 'Subscription/s1' }],
    basedOn: [{ reference: 'Appointment/a1' }],
    about: [{ reference: 'Appointment/a1/_history/v1' }],
    topic: { text: 'create' },
    sent: at(1),
  });
  expect(deliveredEvent(stored, begin + 2000)).toEqual({ ...stored, status: 'completed', received: at(2) });
});

describe('an event that was kept', () => {
  test('is read, also when the Communication has other identifiers', () => {
    const identifier = [{ system: 'other', value: 'x/9' }, ...(stored.identifier ?? [])];
    expect(eventOf({ ...stored, identifier }, config)).toEqual(event);
  });

  test.each<[string, Communication['topic']]>([
    ['without a topic', undefined],
    ['with another topic', { text: 'other' }],
  ])('%s was an update', (_, topic) => {
    expect(eventOf({ ...stored, topic }, config)).toEqual({ ...event, kind: 'update' });
  });

  test.each<[string, Partial<Communication>]>([
    ['no identifier', { identifier: undefined }],
    ['an identifier of another system', { identifier: [{ system: 'other', value: 's1/3' }] }],
    ['an identifier without a value', { identifier: [{ system }] }],
    ['no number', { identifier: [{ system, value: 's1' }] }],
    ['nothing that it is about', { about: undefined }],
    ['an empty list of what it is about', { about: [] }],
    ['no reference', { about: [{ display: 'x' }] }],
    ['an appointment without an id', { about: [{ reference: 'Appointment//_history/v1' }] }],
    ['no version', { about: [{ reference: 'Appointment/a1' }] }],
    ['no time', { sent: undefined }],
  ])('cannot be read from a Communication with %s', (_, changes) => {
    expect(eventOf({ ...stored, ...changes }, config)).toBeUndefined();
  });
});

test('events are found by their numbers', () => {
  const [path, query] = eventsQuery('s1', 3, 5, config).split('?');
  expect(path).toBe('Communication');
  expect([...new URLSearchParams(query)]).toEqual([
    ['identifier', `${system}|s1/3,${system}|s1/4,${system}|s1/5`],
    ['_count', '3'],
  ]);
});

test('a response names the events that are no longer kept', () => {
  expect(missingEvents(1, 5, [2, 4])).toBe(
    'The events 1, 3, 5 are no longer kept: read the appointments to see their state.',
  );
});
