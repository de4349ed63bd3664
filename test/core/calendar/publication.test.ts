import { describe, expect, it } from '@jest/globals';
import { publicationTask, turnsOf } from '../../../core/calendar/publish/publication.ts';
import { config } from './support.ts';

const inLine = (schedule: string, from?: number) => publicationTask({ schedule, status: 'accepted', from }, config);

describe('the turns of Schedules in line', () => {
  it('give each its nearest days before one has the rest, and keep the order otherwise', () => {
    const tasks = [inLine('begun', 100), inLine('new'), inLine('also begun', 50), inLine('also new')];
    expect(turnsOf(tasks).map(({ focus }) => focus?.reference)).toEqual([
      'Schedule/new',
      'Schedule/also new',
      'Schedule/begun',
      'Schedule/also begun',
    ]);
  });
});
