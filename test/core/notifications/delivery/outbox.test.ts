import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  awaitsHandshake,
  dueIn,
  type OutboxStatus,
  outboxOf,
  outboxTask,
  subscriberOutboxesQuery,
} from '../../../../core/notifications/delivery/outbox.ts';
import { at, begin, config, outbox } from '../support.ts';

const owner = { subscription: 'Subscription/s1', subscriber: 'portal' };
const stored = outboxTask({ ...outbox, events: 3, delivered: 1 }, owner, config);

describe('the Task of an outbox', () => {
  it('describes itself to administrators', () => {
    expect(stored).toEqual({
      resourceType: 'Task',
      status: 'accepted',
      intent: 'order',
      identifier: [{ system: artefactUri(config, 'LocalTask'), value: 'any-appointment' }],
      groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: 'portal' },
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'notify' }] },
      description: '1 of 3 events delivered',
      focus: { reference: 'Subscription/s1' },
      input: [{ type: { text: 'readable' }, valueString: 'Appointment' }],
      output: [
        { type: { text: 'events' }, valueInteger: 3 },
        { type: { text: 'delivered' }, valueInteger: 1 },
        { type: { text: 'failed attempts' }, valueInteger: 0 },
        { type: { text: 'listening since' }, valueInstant: at(0) },
      ],
    });
  });

  it('says when the clock is to look at it', () => {
    const task = outboxTask({ ...outbox, sent: begin }, { ...owner, heartbeat: 60 }, config);
    expect(task.executionPeriod).toEqual({ start: at(60) });
    expect([dueIn(task), dueIn(stored)]).toEqual([begin + 60_000, undefined]);
  });

  it('that was written when the period began with the listening is still read', () => {
    const output = (stored.output ?? []).filter(({ type }) => type.text !== 'listening since');
    expect(outboxOf({ ...stored, output, executionPeriod: { start: at(7) } })?.since).toBe(begin + 7000);
  });

  it.each<[OutboxStatus, string]>([
    ['on-hold', 'next attempt'],
    ['in-progress', 'lease'],
  ])('of one that is %s names the moment that it waits for: %s', (status, text) => {
    const full = { ...outbox, status, sent: begin, until: begin + 1000, lease: 'one', woken: begin, error: 'dead' };
    const task = outboxTask(full, owner, config);
    expect(task.output?.slice(4)).toEqual([
      { type: { text: 'last sent' }, valueInstant: at(0) },
      { type: { text }, valueInstant: at(1) },
      { type: { text: 'delivery' }, valueString: 'one' },
    ]);
    expect(task).toMatchObject({ lastModified: at(0), statusReason: { text: 'dead' } });
  });

  it('is written over the stored one', () => {
    expect(outboxTask(outbox, owner, config, { ...stored, id: 'stored' }).id).toBe('stored');
    expect(outboxTask(outbox, owner, config, stored)).not.toHaveProperty('id');
  });
});

it('the outboxes of a subscriber are found by it and their status, those written first first', () => {
  const url = subscriberOutboxesQuery('portal', ['ready', 'received'], 5, config);
  expect([...new URLSearchParams(url.slice('Task?'.length))]).toEqual([
    ['code', `${artefactUri(config, 'LocalTask')}|notify`],
    ['status', 'ready,received'],
    ['group-identifier', `${artefactUri(config, 'LocalRequestor')}|portal`],
    ['_sort', '_lastUpdated'],
    ['_count', '5'],
  ]);
});

describe('a Task that', () => {
  const without = (text: string): Task => ({
    ...stored,
    output: (stored.output ?? []).filter(({ type }) => type.text !== text),
  });

  it.each<[string, Task]>([
    ['has a status that no outbox has', { ...stored, status: 'rejected' }],
    ['does not count the events', without('events')],
    ['does not count what was delivered', without('delivered')],
    ['says nothing', { ...stored, output: undefined }],
  ])('%s is no outbox', (_, task) => {
    expect(outboxOf(task)).toBeUndefined();
  });

  it('has an input without text permits nothing by it', () => {
    const input = [{ type: { text: 'readable' }, valueString: 'Appointment' }, { type: { text: 'x' } }];
    expect(outboxOf({ ...stored, input })?.readable).toEqual(['Appointment']);
  });

  it('leaves out what has not happened is an outbox without it', () => {
    const output = without('failed attempts').output?.filter(({ type }) => type.text !== 'listening since');
    const read = outboxOf({ ...stored, output, input: undefined });
    expect(read).toEqual({
      status: 'accepted',
      events: 3,
      delivered: 1,
      attempts: 0,
      since: Number.NaN,
      readable: [],
    });
  });
});

it.each<[OutboxStatus, boolean]>([
  ['ready', false],
  ['in-progress', false],
  ['accepted', true],
  ['on-hold', true],
  ['failed', true],
  ['cancelled', true],
])('a Subscription that is requested while its outbox is %s needs a new handshake: %s', (status, expected) => {
  expect(awaitsHandshake({ ...outbox, status })).toBe(expected);
});
