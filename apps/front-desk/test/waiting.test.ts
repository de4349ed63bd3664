import { describe, expect, test } from '@jest/globals';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { nextAfter, requestsIn } from '../requests/waiting.ts';

const config = loadConfig();

const request = (id: string, deadline?: string, created = '2027-01-01T10:00:00Z'): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'pending',
  created,
  participant: [{ status: 'accepted' }],
  ...(deadline && {
    extension: [{ url: artefactUri(config, 'LocalConfirmationDeadline'), valueInstant: deadline }],
  }),
});

const ids = (...resources: unknown[]): string[] => requestsIn(resources, config).waiting.map(({ id }) => id);

describe('requests', () => {
  test('stand in the order of their deadlines, those without one last, by when they were asked', () => {
    const early = '2027-01-02T10:00:00Z';
    const late = '2027-01-03T10:00:00Z';
    const old = request('old', undefined, '2026-12-01T10:00:00Z');
    expect(ids(request('none'), old, request('late', late), request('early', early))).toEqual([
      'early',
      'late',
      'old',
      'none',
    ]);
  });

  test('are urgent, and named by who asked, as their Tasks say', () => {
    const task: Task = {
      resourceType: 'Task',
      status: 'requested',
      intent: 'order',
      priority: 'urgent',
      focus: { reference: 'Appointment/a' },
      requester: { display: 'Portal A' },
    };
    const { waiting } = requestsIn([task, request('a'), request('b')], config);
    expect(waiting.map(({ id, isUrgent, requester }) => [id, isUrgent, requester])).toEqual([
      ['a', true, 'Portal A'],
      ['b', false, undefined],
    ]);
  });

  test.each([[null], [{ resourceType: 'Task' }], [{ resourceType: 'Appointment', extension: [null] }]])(
    '%p stops nothing',
    (broken) => {
      expect(() => ids(broken)).not.toThrow();
    },
  );
});

describe('after an answer comes', () => {
  const all = requestsIn([request('1'), request('2'), request('3')], config).waiting;
  const without = (...gone: string[]) => all.filter(({ id }) => !gone.includes(id));
  test.each([
    ['1', without('1'), '2'],
    ['1', without('1', '2'), '3'],
    ['3', without('3'), '2'],
    ['2', without('1', '2', '3'), undefined],
  ])('%s is followed by the next that waits', (id, after, next) => {
    expect(nextAfter(id, all, after)).toBe(next);
  });
});
