import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import {
  noOutboxes,
  type Outbox,
  outboxesOf,
  outboxesTask,
  withOutbox,
} from '../../../../core/notifications/delivery/outbox.ts';
import { begin, config, outbox } from '../support.ts';

describe('the Task of a subscriber', () => {
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
