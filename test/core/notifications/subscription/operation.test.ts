import { expect, test } from '@jest/globals';
import { readSubscriptionOperation } from '../../../../core/notifications/subscription/operation.ts';

const absent = {
  id: undefined,
  ids: undefined,
  statuses: undefined,
  since: undefined,
  until: undefined,
  content: undefined,
};

test.each(['status', 'events', 'binding'] as const)('$%s is an operation', (operation) => {
  expect(readSubscriptionOperation({ operation })).toEqual({ operation, ...absent });
});

test('an operation is read with everything that it is asked for', () => {
  const asked = {
    operation: 'events',
    id: 's1',
    ids: ['s2'],
    statuses: ['active'],
    since: 1,
    until: 3,
    content: 'empty',
  };
  expect(readSubscriptionOperation(asked)).toEqual(asked);
});

test('what is of the wrong kind counts as absent', () => {
  const asked = { operation: 'status', id: 1, ids: 'x', statuses: {}, since: '1', until: 1.5, content: null };
  expect(readSubscriptionOperation(asked)).toEqual({ operation: 'status', ...absent });
  expect(readSubscriptionOperation({ operation: 'status', ids: [1, 's1'], until: 2 ** 53 })).toEqual({
    operation: 'status',
    ...absent,
    ids: ['s1'],
  });
});

test.each([undefined, {}, { operation: 'delete' }, 'status'])('%j is none', (asked) => {
  expect(readSubscriptionOperation(asked)).toEqual({
    code: 'malformed-request',
    diagnostics: 'The operation must be one of status, events, binding, deliver.',
  });
});
