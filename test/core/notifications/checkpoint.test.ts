import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import {
  CHANGED_AT_ONCE,
  CHECKPOINT,
  changedQuery,
  checkpointTask,
  OVERLAP,
} from '../../../core/notifications/delivery/checkpoint.ts';
import { at, begin, config } from './support.ts';

/** The moment from which a sweep looks for changes. */
const from = (query: string): number =>
  Date.parse(new URLSearchParams(query.split('?')[1]).get('_lastUpdated')?.slice(2) ?? '');

it('a checkpoint is a Task that says up to when all changes have their events', () => {
  expect(checkpointTask(begin, config)).toEqual({
    resourceType: 'Task',
    status: 'in-progress',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: CHECKPOINT }] },
    description: 'All changes of appointments up to the end of this period have their events',
    executionPeriod: { end: at(0) },
  });
  expect(CHECKPOINT).toBe('announce');
});

it('the next checkpoint is written over the stored one', () => {
  const stored = { ...checkpointTask(begin, config), id: 'stored' };
  expect(checkpointTask(begin + 1000, config, stored)).toMatchObject({ id: 'stored', executionPeriod: { end: at(1) } });
});

it('a sweep looks for what has changed since two minutes before the checkpoint, the oldest first', () => {
  const query = changedQuery(checkpointTask(begin, config), begin + 3_600_000);
  expect(query).toBe(`Appointment?_lastUpdated=ge${at(-120)}&_sort=_lastUpdated&_count=${CHANGED_AT_ONCE}`);
  expect(OVERLAP).toBe(120_000);
});

it.each([
  ['without a checkpoint', undefined],
  ['with a checkpoint that says nothing', { ...checkpointTask(begin, config), executionPeriod: {} }],
  ['with a checkpoint without its period', { ...checkpointTask(begin, config), executionPeriod: undefined }],
  ['with a checkpoint in the future', checkpointTask(begin + 60_000, config)],
])('%s it looks back two minutes', (_, stored) => {
  expect(from(changedQuery(stored, begin))).toBe(begin - OVERLAP);
});
