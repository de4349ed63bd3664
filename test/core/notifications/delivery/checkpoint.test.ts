import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  CHANGED_AT_ONCE,
  CHECKPOINT,
  changedQuery,
  checkpointTask,
  OVERLAP,
  unsettledSince,
} from '../../../../core/notifications/delivery/checkpoint.ts';
import { at, begin, config } from '../support.ts';

const checkpoint = (until: number, settled?: number) => checkpointTask({ until, settled }, config);

/** The moment from which retry-deliveries looks for changes. */
const from = (query: string): number =>
  Date.parse(new URLSearchParams(query.split('?')[1]).get('_lastUpdated')?.slice(2) ?? '');

it('a checkpoint is a Task that says up to when changes have their events', () => {
  expect(checkpointTask({ until: begin, settled: begin - 1000 }, config)).toEqual({
    resourceType: 'Task',
    status: 'in-progress',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: CHECKPOINT }] },
    description:
      'All changes up to the start of this period have their events, and all appointments that have not changed since its end',
    executionPeriod: { start: at(-1), end: at(0) },
  });
  expect(CHECKPOINT).toBe('announce');
});

it('the next checkpoint is written over the stored one', () => {
  const stored = { ...checkpoint(begin), id: 'stored' };
  const next = checkpointTask({ until: begin + 1000, settled: undefined }, config, stored);
  expect(next).toMatchObject({ id: 'stored', executionPeriod: { end: at(1) } });
});

it('retry-deliveries looks for what has changed since two minutes before the checkpoint, the oldest first', () => {
  const query = changedQuery(checkpoint(begin), begin + 3_600_000);
  expect(query).toBe(`Appointment?_lastUpdated=ge${at(-120)}&_sort=_lastUpdated&_count=${CHANGED_AT_ONCE}`);
  expect(OVERLAP).toBe(120_000);
});

it.each([
  ['without a checkpoint', undefined],
  ['with a checkpoint that says nothing', { ...checkpoint(begin), executionPeriod: {} }],
  ['with a checkpoint without its period', { ...checkpoint(begin), executionPeriod: undefined }],
  ['with a checkpoint in the future', checkpoint(begin + 60_000)],
])('%s it looks back two minutes', (_, stored) => {
  expect(from(changedQuery(stored, begin))).toBe(begin - OVERLAP);
});

it.each([
  ['two minutes before everything was recorded', begin, begin - 3_600_000, begin - OVERLAP],
  ['the beginning of the first who listens, if that is later', begin, begin - 1000, begin - 1000],
  [
    'the beginning of the first who listens, as long as nothing says more',
    undefined,
    begin - 9_000_000,
    begin - 9_000_000,
  ],
])('changes are looked at from %s', (_, settled, listening, expected) => {
  expect(unsettledSince(checkpoint(begin + 1000, settled), listening)).toBe(expected);
});
