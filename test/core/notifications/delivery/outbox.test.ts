import { describe, expect, it } from '@jest/globals';
import {
  awaitsHandshake,
  type OutboxStatus,
  outboxOf,
  outboxTask,
} from '../../../../core/notifications/delivery/outbox.ts';
import { at, begin, config, outbox } from '../support.ts';

const owner = { subscription: 'Subscription/s1', subscriber: 'portal' };
const stored = outboxTask({ ...outbox, events: 3, delivered: 1 }, owner, config);

describe('the Task of an outbox', () => {
  it('that was written when the period began with the listening is still read', () => {
    const output = (stored.output ?? []).filter(({ type }) => type.text !== 'listening since');
    expect(outboxOf({ ...stored, output, executionPeriod: { start: at(7) } })?.since).toBe(begin + 7000);
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
