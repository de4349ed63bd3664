import { describe, expect, it, test } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import * as fc from 'fast-check';
import {
  dueAt,
  noOutboxes,
  type Outbox,
  outboxesOf,
  outboxesTask,
  outboxStatuses,
  withOutbox,
} from '../../../../core/notifications/delivery/outbox.ts';
import { begin, config, outbox } from '../support.ts';

const moment = fc.option(fc.integer({ min: begin, max: begin + 1e9 }), { nil: undefined });
const arbitrary = fc.record({
  status: fc.constantFrom(...outboxStatuses),
  events: fc.nat(),
  delivered: fc.nat(),
  attempts: fc.nat(30),
  since: fc.integer({ min: begin, max: begin + 1e9 }),
  sent: moment,
  until: moment,
  heartbeat: fc.option(fc.nat(1_000), { nil: undefined }),
  end: moment,
  error: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
});

describe('the Task of a subscriber', () => {
  test('says everything of its outboxes', () => {
    const rows = fc.record({
      of: fc.array(fc.tuple(fc.uuid(), arbitrary), { maxLength: 5 }).map((entries) => new Map(entries)),
      readable: fc.array(fc.uuid(), { maxLength: 3 }),
      lease: fc.option(fc.record({ id: fc.uuid(), until: fc.integer({ min: begin, max: begin + 1e9 }) }), {
        nil: undefined,
      }),
      woken: moment,
    });
    for (const row of fc.sample(rows, 200)) {
      const outboxes = { subscriber: 'portal', ...row };
      expect(outboxesOf(outboxesTask(outboxes, config))).toEqual(outboxes);
    }
  });

  it.each<[string, Partial<Outbox>[], Task['status'], number | undefined]>([
    ['none', [], 'cancelled', undefined],
    ['one of which something waits', [{ status: 'accepted', end: begin + 1 }, { status: 'ready' }], 'ready', undefined],
    ['one that waits', [{ status: 'on-hold', until: begin + 5 }, { status: 'accepted' }], 'on-hold', begin + 5],
    ['those that end', [{ end: begin + 7 }, { end: begin + 3 }], 'accepted', begin + 3],
    ['one in error', [{ status: 'failed' }, { status: 'cancelled' }], 'failed', undefined],
  ])('with %s has the status and the time of what is next', (_, all, status, due) => {
    const row = all.reduce<ReturnType<typeof noOutboxes>>(
      (known, more, index) => withOutbox(known, `s${index}`, { ...outbox, ...more }),
      noOutboxes('portal'),
    );
    const task = outboxesTask(row, config);
    expect([task.status, Date.parse(task.executionPeriod?.start ?? '')]).toEqual([status, due ?? Number.NaN]);
    const leased = outboxesTask({ ...row, lease: { id: 'one', until: begin + 9 } }, config);
    expect([leased.status, leased.executionPeriod?.start]).toEqual(['in-progress', new Date(begin + 9).toISOString()]);
  });

  it('with something else among its outputs is read all the same', () => {
    const { output, ...task } = outboxesTask(withOutbox(noOutboxes('portal'), 's1', outbox), config);
    const broken = ['', '{', '[]', '{"status":"other","events":1,"delivered":1}'].map((valueString, index) => ({
      type: { text: `Subscription/b${index}` },
      valueString,
    }));
    const read = outboxesOf({ ...task, output: [...(output ?? []), ...broken, { type: { text: 'note' } }] });
    expect([...read.of.keys()]).toEqual(['s1']);
  });
});

it('heartbeats are due so long after the last notification', () => {
  expect(dueAt({ ...outbox, sent: begin, heartbeat: 60 })).toBe(begin + 60_000);
});
