import { describe, expect, it } from '@jest/globals';
import type { Appointment, BundleEntry, Task } from '@medplum/fhirtypes';
import { afterItsEnd } from '../../../../core/booking/appointment/ended.ts';
import {
  isOpenTask,
  isReminderDue,
  isRequestTask,
  reminderEntries,
  taskEntries,
  tasksOfQuery,
  withRequestTasks,
} from '../../../../core/booking/confirmation/task.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { appointment, config, now, requestor } from '../support.ts';

const HOUR = 3_600_000;
const inHours = (count: number): string => new Date(now + count * HOUR).toISOString();
const system = artefactUri(config, 'LocalTask');
const statuses: Task['status'][] = [
  'draft',
  'requested',
  'received',
  'accepted',
  'rejected',
  'ready',
  'cancelled',
  'in-progress',
  'on-hold',
  'failed',
  'completed',
  'entered-in-error',
];

const waiting = (deadline: string, more: Partial<Appointment> = {}): Appointment => ({
  ...appointment({ status: 'pending', meta: { tag: [requestorTag(requestor, config)] }, ...more }),
  extension: [{ url: artefactUri(config, 'LocalConfirmationDeadline'), valueInstant: deadline }],
});

const context = {
  now,
  config: { ...config, timeZone: 'Europe/Berlin' },
  requestor,
  requester: { reference: 'ClientApplication/portal', display: 'The portal' },
  newId: () => 'urn:uuid:new',
};

const task: Task = {
  resourceType: 'Task',
  id: 'task',
  meta: { versionId: '1' },
  status: 'requested',
  intent: 'order',
  priority: 'urgent',
  authoredOn: inHours(0),
  focus: { reference: 'Appointment/one' },
  for: { reference: 'Patient/anna' },
  restriction: { period: { end: inHours(4) } },
};

const made = (appointments: readonly BundleEntry[], tasks: readonly Task[] = [], more: object = {}) =>
  withRequestTasks(appointments, { reference: 'Patient/anna' }, tasks, { ...context, ...more });

describe('a Task', () => {
  it('is not over until somebody has ended it', () => {
    const over = ['rejected', 'cancelled', 'failed', 'completed', 'entered-in-error'];
    expect(statuses.filter((status) => !isOpenTask({ ...task, status }))).toEqual(over);
    const found = Object.fromEntries(tasksOfQuery(['one', 'two'], config));
    expect(found).toEqual({
      code: `${system}|confirm`,
      status: 'draft,requested,received,accepted,ready,in-progress,on-hold',
      focus: 'Appointment/one,Appointment/two',
    });
  });

  it('is that of a request by its code', () => {
    const coded = (...coding: object[]): Task => ({ ...task, code: { coding } });
    expect(isRequestTask(coded({ code: 'x' }, { system, code: 'confirm' }), config)).toBe(true);
    expect(isRequestTask(coded({ system: 'urn:x', code: 'confirm' }, { system, code: 'book' }), config)).toBe(false);
    expect([isRequestTask(task, config), isRequestTask({ ...task, code: {} }, config)]).toEqual([false, false]);
  });
});

describe('the Task of a booking that waits', () => {
  const entry: BundleEntry = { request: { method: 'POST', url: 'Appointment' }, resource: waiting(inHours(4)) };

  it('says who asks for what time, for whom, until when', () => {
    const other: BundleEntry = { request: { method: 'POST', url: 'Slot' } };
    const [first, second, third, ...more] = made([entry, other]);
    expect([first, second, more]).toEqual([{ ...entry, fullUrl: 'urn:uuid:new' }, other, []]);
    expect(third).toEqual({
      request: { method: 'POST', url: 'Task' },
      resource: {
        resourceType: 'Task',
        status: 'requested',
        intent: 'order',
        code: { coding: [{ system, code: 'confirm' }], text: 'Confirm an appointment' },
        description: 'Confirm or refuse the appointment 2027-01-04 10:00–10:30 (Europe/Berlin)',
        priority: 'routine',
        authoredOn: inHours(0),
        restriction: { period: { end: inHours(4) } },
        focus: { reference: 'urn:uuid:new' },
        for: { reference: 'Patient/anna' },
        requester: context.requester,
      },
    });
  });

  it('names the portal by its id where another one writes, or its name is not known', () => {
    const identifier = { system: artefactUri(config, 'LocalRequestor'), value: requestor };
    const requesterOf = (more: object) => {
      const task = made([entry], [], more)[1]?.resource;
      return task?.resourceType === 'Task' ? task.requester : undefined;
    };
    expect(requesterOf({ requestor: 'staff', requester: { reference: 'Practitioner/p' } })).toEqual({ identifier });
    expect(requesterOf({ requester: undefined })).toEqual({ identifier });
    expect(requesterOf({ requester: { display: 'Nobody' } })).toEqual({ identifier });
    expect(requesterOf({ requester: { reference: 'ClientApplication/portal' } })).toEqual({
      reference: 'ClientApplication/portal',
    });
    const { meta: _, ...untagged } = waiting(inHours(4));
    const [, own] = made([{ ...entry, resource: untagged }]);
    expect(own?.resource).toMatchObject({ requester: context.requester });
  });

  it('is about the stored appointment when that is moved, and is made only once', () => {
    const moved: BundleEntry = {
      request: { method: 'PUT', url: 'Appointment/one' },
      resource: { ...waiting(inHours(4)), id: 'one' },
    };
    const [first, second, ...more] = made([moved]);
    expect([first, second?.resource, more]).toMatchObject([moved, { focus: { reference: 'Appointment/one' } }, []]);
    expect(made([moved], [task])).toEqual([moved]);
    const [, another] = made([moved], [{ ...task, focus: { reference: 'Appointment/two' } }]);
    expect(another?.resource).toMatchObject({ resourceType: 'Task', status: 'requested' });
  });

  it('keeps the address that the appointment has in its transaction, and needs no patient', () => {
    const named = { ...entry, fullUrl: 'urn:uuid:own' };
    const [first, second] = withRequestTasks([named], undefined, [], context);
    expect(first).toEqual(named);
    expect(second?.resource).toMatchObject({ focus: { reference: 'urn:uuid:own' } });
    expect(second?.resource).not.toHaveProperty('for');
  });

  it('is none for what is confirmed at once; the Tasks of what it replaces end', () => {
    const booked: BundleEntry = {
      request: { method: 'POST', url: 'Appointment' },
      resource: appointment({ status: 'booked' }),
    };
    const replaced: BundleEntry = {
      request: { method: 'PUT', url: 'Appointment/one' },
      resource: { ...waiting(inHours(4)), id: 'one', status: 'cancelled' },
    };
    const [first, second, ended, ...more] = made([booked, replaced], [task]);
    expect([first, second, more]).toEqual([booked, replaced, []]);
    expect(ended).toMatchObject({
      request: { method: 'PUT', url: 'Task/task', ifMatch: 'W/"1"' },
      resource: { id: 'task', status: 'completed' },
    });
    expect(made([])).toEqual([]);
  });
});

describe('the Task of a stored request', () => {
  const changesOf = (changed: Appointment, stored: Task = task, at = now) =>
    taskEntries({ ...changed, id: 'one' }, [stored], at, config).map(({ resource }) => resource);
  const request = waiting(inHours(4));

  it('stays while the request waits, and so does one of another appointment', () => {
    expect(changesOf(request)).toEqual([]);
    expect(
      changesOf({ ...request, status: 'cancelled' }, { ...task, focus: { reference: 'Appointment/two' } }),
    ).toEqual([]);
  });

  it.each(['booked', 'cancelled', 'entered-in-error', 'noshow'] as const)('is completed when it is %s', (status) => {
    expect(changesOf({ ...request, status })).toMatchObject([{ id: 'task', status: 'completed' }]);
  });

  it('is cancelled with the reason when nobody answered', () => {
    const ended = afterItsEnd(request, now + 4 * HOUR, config);
    expect(changesOf(ended)).toMatchObject([
      { status: 'cancelled', statusReason: { coding: [{ code: 'confirmation-expired' }] } },
    ]);
  });

  it('that is over stays as it is', () => {
    expect(changesOf({ ...request, status: 'booked' }, { ...task, status: 'failed' })).toEqual([]);
  });

  it('asks anew for another time, and forgets that it reminded', () => {
    const reminded: Task = { ...task, output: [{ type: { text: 'reminded' }, valueInstant: 'x' }] };
    const [again] = changesOf(waiting(inHours(9)), reminded, now + HOUR);
    expect(again).toMatchObject({
      priority: 'routine',
      authoredOn: inHours(1),
      restriction: { period: { end: inHours(9) } },
    });
    expect(again).not.toHaveProperty('output');
  });
});

describe('a request that waits again', () => {
  const renewedBy = (changed: Appointment, stored: Task = task) =>
    taskEntries({ ...changed, id: 'one' }, [stored], now, context.config)[0]?.resource;

  it('for another patient: the Task names that one, and nothing else changes', () => {
    const participant = [{ actor: { reference: 'Patient/bea', display: 'Bea' }, status: 'accepted' as const }];
    expect(renewedBy(waiting(inHours(4), { participant }))).toEqual({
      ...task,
      for: { reference: 'Patient/bea', display: 'Bea' },
    });
    const practitioner = [{ actor: { reference: 'Practitioner/p' }, status: 'accepted' as const }];
    expect(renewedBy(waiting(inHours(4), { participant: practitioner }))).toBeUndefined();
  });

  it('for another time: it asks anew, and keeps what others have put out', () => {
    const output = [
      { type: { text: 'reminded' }, valueInstant: inHours(1) },
      { type: { text: 'called' }, valueString: 'x' },
    ];
    expect(renewedBy(waiting(inHours(6)), { ...task, output })).toEqual({
      ...task,
      description: 'Confirm or refuse the appointment 2027-01-04 10:00–10:30 (Europe/Berlin)',
      priority: 'routine',
      authoredOn: inHours(0),
      restriction: { period: { end: inHours(6) } },
      output: output.slice(1),
    });
  });
});

describe('the reminder', () => {
  it('is due when three quarters of the time are over, and comes once', () => {
    const due = [3 * HOUR - 1, 3 * HOUR, 4 * HOUR - 1, 4 * HOUR];
    expect(due.map((later) => isReminderDue(task, now + later, config))).toEqual([false, true, true, false]);
    const [entry, ...more] = reminderEntries(task, now + 3 * HOUR, config);
    expect(more).toEqual([]);
    expect(isReminderDue({ ...task, ...entry?.resource } as Task, now + 3 * HOUR, config)).toBe(false);
  });

  it('is due at that share of the time, of an open Task with both ends that has not reminded', () => {
    const half = { ...config, requests: { ...config.requests, remindAfter: 50 } };
    const due = (more: Partial<Task>, later = 2 * HOUR) => isReminderDue({ ...task, ...more }, now + later, half);
    expect([due({}), due({}, 2 * HOUR - 1)]).toEqual([true, false]);
    expect(due({ output: [{ type: { text: 'called' }, valueString: 'x' }] })).toBe(true);
    const reminded = { type: { text: 'reminded' }, valueInstant: 'x' };
    expect(due({ output: [reminded] })).toBe(false);
    expect(due({ output: [reminded, { type: { text: 'called' }, valueString: 'x' }] })).toBe(false);
    expect([due({ status: 'completed' }), due({ authoredOn: 'x' }), due({ restriction: {} })]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('is a line in the Task, and a Communication that says until when', () => {
    const wanted = { ...config, requests: { ...config.requests, communication: true } };
    const output = [{ type: { text: 'called' }, valueString: 'x' }];
    const described: Task = {
      ...task,
      description: 'Confirm it',
      output,
      for: { reference: 'Patient/anna', display: 'A' },
    };
    const [urgent, told] = reminderEntries(described, now, wanted);
    expect(urgent).toEqual({
      request: { method: 'PUT', url: 'Task/task', ifMatch: 'W/"1"' },
      resource: {
        ...described,
        priority: 'urgent',
        output: [...output, { type: { text: 'reminded' }, valueInstant: inHours(0) }],
      },
    });
    expect(told).toEqual({
      request: { method: 'POST', url: 'Communication' },
      resource: {
        resourceType: 'Communication',
        status: 'completed',
        category: [{ coding: [{ system, code: 'confirm' }] }],
        priority: 'urgent',
        subject: { reference: 'Patient/anna', display: 'A' },
        about: [{ reference: 'Appointment/one' }, { reference: 'Task/task' }],
        sent: inHours(0),
        payload: [{ contentString: `Confirm it. Without an answer the request ends at ${inHours(4)}.` }],
      },
    });
  });

  it('of a Task without patient and focus names neither', () => {
    const wanted = { ...config, requests: { ...config.requests, communication: true } };
    const { for: _, focus: __, ...bare } = task;
    const told = reminderEntries(bare, now, wanted)[1]?.resource;
    expect(told).not.toHaveProperty('subject');
    expect(told).toMatchObject({ about: [{ reference: 'Task/task' }] });
  });
});
