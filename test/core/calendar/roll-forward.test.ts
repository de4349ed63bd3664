import { describe, expect, it, test } from '@jest/globals';
import type { Publication } from '../../../core/calendar/publish/publication.ts';
import {
  dueOf,
  nextPass,
  type RollForward,
  rollForwardIn,
  rollForwardTask,
  type Standing,
} from '../../../core/calendar/publish/roll-forward.ts';
import { config } from './support.ts';

const publication: Publication = { schedule: 's', status: 'completed', from: 100, inputs: 'a' };
const standing: Standing = { publication, takesPart: true, inputs: 'a', end: 100, wasTaken: false };

describe('a Schedule is put in line', () => {
  test.each<[string, Partial<Standing>, object | undefined]>([
    ['not when nothing has changed', {}, undefined],
    ['for what the horizon has gained', { end: 200 }, { status: 'accepted', from: 100, inputs: 'a' }],
    ['as a whole when what it is made from has changed', { inputs: 'b', end: 200 }, { status: 'accepted' }],
    ['as a whole when one of its Slots was taken', { wasTaken: true }, { status: 'accepted' }],
    ['when it has never been published', { publication: undefined }, { status: 'accepted' }],
    ['not when it has no opening hours', { publication: undefined, takesPart: false }, undefined],
    [
      'to withdraw what was published when it has none any more',
      { takesPart: false, inputs: 'b' },
      { status: 'accepted' },
    ],
    [
      'not again while its hours are as unusable as before',
      { publication: { ...publication, status: 'failed' }, end: undefined },
      undefined,
    ],
    [
      'when its hours were unusable and are others',
      { publication: { ...publication, status: 'failed' }, inputs: 'b' },
      { status: 'accepted' },
    ],
    [
      'not while a run is about it that has read the same',
      { publication: { ...publication, status: 'in-progress' }, end: 200 },
      undefined,
    ],
    [
      'when a run is about it that has read something else',
      { publication: { ...publication, status: 'in-progress' }, inputs: 'b' },
      { status: 'accepted' },
    ],
    ['not while it is in line', { publication: { ...publication, status: 'accepted' }, inputs: 'b' }, undefined],
  ])('%s', (_, more, expected) => {
    expect(dueOf('s', { ...standing, ...more })).toEqual(expected && { schedule: 's', ...expected });
  });
});

describe('the pass through all Schedules', () => {
  const pass: RollForward = { status: 'in-progress', offset: 200, began: 2000, lastBegan: 1000, madeUpAt: 5000 };

  it('is kept in a Task', () => {
    expect(rollForwardIn(rollForwardTask(pass, config))).toEqual(pass);
    const over: RollForward = {
      status: 'completed',
      offset: undefined,
      began: 2000,
      lastBegan: undefined,
      madeUpAt: undefined,
    };
    expect(rollForwardIn(rollForwardTask(over, config))).toEqual(over);
    expect(rollForwardIn({ resourceType: 'Task', status: 'requested', intent: 'order' })).toBeUndefined();
  });

  it('looks for what was taken since the last one that has seen all Schedules', () => {
    expect(nextPass(undefined, 3000)).toEqual({ status: 'requested', offset: 0, began: 3000 });
    expect(nextPass(pass, 3000).lastBegan).toBe(1000);
    expect(nextPass({ ...pass, offset: undefined }, 3000).lastBegan).toBe(2000);
  });

  it('remembers how much of the time publishing has had before it', () => {
    expect(nextPass(pass, 3000).madeUpAt).toBe(5000);
  });
});
