import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { afterItsEnd, hasEnded } from '../../../../core/booking/appointment/ended.ts';
import { deadlineExtensions } from '../../../../core/booking/confirmation/deadline.ts';
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

  it('that is booked again at the same time keeps its deadline, unless that is over', () => {
    const policies = [{ policy: { confirmWithin: HOUR }, saidBy: {}, isReadable: true }];
    const time = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };
    const deadline = Date.parse(at('08:00'));
    const given = (previous: Appointment, moment: number, interval = time) =>
      deadlineExtensions(policies, interval, previous, moment, config)[0]?.valueInstant;
    const one = pending(at('08:00'));
    expect(given(one, deadline - 1)).toBe(at('08:00'));
    expect(given(one, deadline)).toBe(at('09:00'));
    expect(given({ ...one, status: 'booked' }, now)).toBe(new Date(now + HOUR).toISOString());
    expect(given(one, now, { ...time, end: time.end + 1 })).toBe(new Date(now + HOUR).toISOString());
  });

  it('a deadline that cannot be read is over', () => {
    expect(hasEnded(pending('tomorrow'), now, config)).toBe(true);
  });
});

it('its Task carries no tag of the portal, which therefore cannot read it', () => {
  const [made] = written(plan(appointment(), clinic(within(2, 'd'))), 'Appointment');
  expect(made?.meta?.tag).toEqual(expect.arrayContaining([expect.objectContaining({ code: requestor })]));
  const [own] = written(plan(appointment(), clinic(within(2, 'd'))), 'Task');
  expect(own?.meta).toBeUndefined();
});
