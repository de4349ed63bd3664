import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Task } from '@medplum/fhirtypes';
import { afterItsEnd, hasEnded } from '../../../../core/booking/appointment/ended.ts';
import { isReminderDue, reminderEntries, taskEntries } from '../../../../core/booking/confirmation/task.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  appointment,
  at,
  config,
  now,
  patient,
  plan,
  requestor,
  schedule,
  slot,
  stateOf,
  written,
} from '../support.ts';

const within = (value: number, code: string): Schedule => ({
  ...schedule,
  extension: [
    { url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' },
    {
      url: artefactUri(config, 'LocalBookingPolicy'),
      extension: [{ url: 'confirmWithin', valueDuration: { value, code } }],
    },
  ],
});

const clinic = (calendar: Schedule) => stateOf(calendar, patient, slot('nine', '09:00', '09:30'));

const requester = { reference: 'ClientApplication/portal', display: 'The portal' };

const url = artefactUri(config, 'LocalConfirmationDeadline');

const pending = (deadline: string): Appointment => ({
  ...appointment({ status: 'pending' }),
  id: 'one',
  extension: [{ url, valueInstant: deadline }],
});

const HOUR = 3_600_000;

describe('a request with a deadline', () => {
  it('is written with its Task in the one transaction, after no more reads than without', () => {
    const [first, ...others] = [within(2, 'd'), schedule].map((calendar) =>
      plan(appointment(), clinic(calendar), { requester }),
    );
    expect(others.map(({ kind }) => kind)).toEqual(['write']);
    const entries = first?.kind === 'write' ? (first.transaction.entry ?? []) : [];
    const [made] = entries;
    const task = entries.find(({ resource }) => resource?.resourceType === 'Task')?.resource;
    const end = new Date(now + 48 * HOUR).toISOString();
    expect(made?.resource).toMatchObject({ status: 'pending', extension: [{ url, valueInstant: end }] });
    expect(task).toMatchObject({
      status: 'requested',
      priority: 'routine',
      focus: { reference: made?.fullUrl },
      for: { reference: 'Patient/anna' },
      requester,
      authoredOn: new Date(now).toISOString(),
      restriction: { period: { end } },
    });
  });

  it('ends at the start at the latest', () => {
    const [made] = written(plan(appointment(), clinic(within(2, 'wk'))), 'Appointment');
    expect(made?.extension).toEqual([{ url, valueInstant: at('09:00') }]);
  });

  it('confirmed at once there is no deadline, and without one no Task', () => {
    const automatic = { ...within(2, 'd'), extension: within(2, 'd').extension?.slice(1) ?? [] };
    const manual = { ...within(2, 'd'), extension: within(2, 'd').extension?.slice(0, 1) ?? [] };
    for (const [calendar, status] of [
      [automatic, 'booked'],
      [manual, 'pending'],
    ] as const) {
      const result = plan(appointment(), clinic(calendar));
      expect(written(result, 'Appointment')).toMatchObject([{ status }]);
      expect(written(result, 'Appointment')[0]?.extension).toBeUndefined();
      expect(written(result, 'Task')).toEqual([]);
    }
  });

  it('is over at that very instant, not before', () => {
    const deadline = Date.parse(at('08:00'));
    const one = pending(at('08:00'));
    expect([hasEnded(one, deadline - 1, config), hasEnded(one, deadline, config)]).toEqual([false, true]);
    expect(afterItsEnd(one, deadline - 1, config)).toBe(one);
    expect(afterItsEnd(one, deadline, config)).toMatchObject({
      status: 'cancelled',
      cancelationReason: { coding: [{ code: 'confirmation-expired' }] },
    });
    expect(hasEnded({ ...one, status: 'booked' }, deadline, config)).toBe(false);
  });

  it('a deadline that cannot be read is over', () => {
    expect(hasEnded(pending('tomorrow'), now, config)).toBe(true);
  });
});

const task: Task = {
  resourceType: 'Task',
  id: 'task',
  meta: { versionId: '1' },
  status: 'requested',
  intent: 'order',
  priority: 'routine',
  authoredOn: new Date(now).toISOString(),
  focus: { reference: 'Appointment/one' },
  for: { reference: 'Patient/anna' },
  restriction: { period: { end: new Date(now + 4 * HOUR).toISOString() } },
};

const changesOf = (changed: Appointment, stored: Task = task, at = now) =>
  taskEntries(changed, [stored], at, config).map(({ resource }) => resource);

describe('its Task', () => {
  const waiting = pending(new Date(now + 4 * HOUR).toISOString());

  it('stays while the request waits, and so does one of another appointment', () => {
    expect(changesOf(waiting)).toEqual([]);
    expect(
      changesOf({ ...waiting, status: 'cancelled' }, { ...task, focus: { reference: 'Appointment/two' } }),
    ).toEqual([]);
  });

  it.each(['booked', 'cancelled', 'entered-in-error', 'noshow'] as const)('is completed when it is %s', (status) => {
    expect(changesOf({ ...waiting, status })).toMatchObject([{ id: 'task', status: 'completed' }]);
  });

  it('is cancelled with the reason when nobody answered', () => {
    const ended = afterItsEnd(waiting, now + 4 * HOUR, config);
    expect(changesOf(ended)).toMatchObject([
      { status: 'cancelled', statusReason: { coding: [{ code: 'confirmation-expired' }] } },
    ]);
  });

  it('that is over stays as it is', () => {
    expect(changesOf({ ...waiting, status: 'booked' }, { ...task, status: 'failed' })).toEqual([]);
  });

  it('asks anew for another time, and forgets that it reminded', () => {
    const reminded: Task = { ...task, priority: 'urgent', output: [{ type: { text: 'reminded' }, valueInstant: 'x' }] };
    const [again] = changesOf(pending(new Date(now + 9 * HOUR).toISOString()), reminded, now + HOUR);
    expect(again).toMatchObject({
      priority: 'routine',
      authoredOn: new Date(now + HOUR).toISOString(),
      restriction: { period: { end: new Date(now + 9 * HOUR).toISOString() } },
    });
    expect(again).not.toHaveProperty('output');
  });
});

describe('the reminder', () => {
  it('is due when three quarters of the time are over', () => {
    expect([3 * HOUR - 1, 3 * HOUR].map((later) => isReminderDue(task, now + later, config))).toEqual([false, true]);
  });

  it('makes the Task urgent, and comes once', () => {
    const [entry, ...more] = reminderEntries(task, now + 3 * HOUR, config);
    expect(more).toEqual([]);
    expect(entry?.request?.ifMatch).toBe('W/"1"');
    const reminded = { ...task, ...entry?.resource } as Task;
    expect(reminded.priority).toBe('urgent');
    expect(isReminderDue(reminded, now + 3 * HOUR, config)).toBe(false);
  });

  it('is a Communication, too, in the same transaction, if the clinic wants one', () => {
    const wanted = { ...config, requests: { ...config.requests, communication: true } };
    const [, entry] = reminderEntries(task, now + 3 * HOUR, wanted);
    expect(entry?.resource).toMatchObject({
      resourceType: 'Communication',
      subject: { reference: 'Patient/anna' },
      about: [{ reference: 'Appointment/one' }, { reference: 'Task/task' }],
    });
    expect(entry?.resource?.meta?.tag).toBeUndefined();
  });
});

it('its Task carries no tag of the portal, which therefore cannot read it', () => {
  const [made] = written(plan(appointment(), clinic(within(2, 'd'))), 'Appointment');
  expect(made?.meta?.tag).toEqual(expect.arrayContaining([expect.objectContaining({ code: requestor })]));
  const [own] = written(plan(appointment(), clinic(within(2, 'd'))), 'Task');
  expect(own?.meta).toBeUndefined();
});
