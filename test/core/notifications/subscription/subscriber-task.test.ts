import { expect, test } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { subscriberTask, subscriberTaskSearch } from '../../../../core/notifications/subscription/subscriber-task.ts';
import { config, portal } from '../support.ts';

test('a subscriber has a Task, which counts how often a Subscription of it was started', () => {
  const task = subscriberTask(portal, config);
  expect(task).toEqual({
    resourceType: 'Task',
    status: 'in-progress',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'subscriber' }] },
    description: 'Keeps the number of Subscriptions of one subscriber within its limit',
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: portal },
    output: [{ type: { text: 'started' }, valueInteger: 0 }],
  });
  const stored: Task = {
    ...task,
    id: 't1',
    output: [{ type: { text: 'other' }, valueInteger: 7 }, ...(task.output ?? [])],
  };
  const next = subscriberTask(portal, config, stored);
  expect(next).toEqual({ ...task, id: 't1', output: [{ type: { text: 'started' }, valueInteger: 1 }] });
  expect(subscriberTask(portal, config, next).output?.[0]?.valueInteger).toBe(2);
});

test.each<[string, Partial<Task>]>([
  ['without its counter', { output: [] }],
  ['without any output', { output: undefined }],
])('a Task %s begins anew', (_, changes) => {
  const stored: Task = { ...subscriberTask(portal, config), id: 't1', ...changes };
  expect(subscriberTask(portal, config, stored).output).toEqual([{ type: { text: 'started' }, valueInteger: 0 }]);
});

test('is found by the code of the Task and the subscriber', () => {
  expect([...new URLSearchParams(subscriberTaskSearch(portal, config))]).toEqual([
    ['code', `${artefactUri(config, 'LocalTask')}|subscriber`],
    ['group-identifier', `${artefactUri(config, 'LocalRequestor')}|${portal}`],
  ]);
});
