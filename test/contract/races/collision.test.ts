import { expect, it, jest } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';
import { aClinic, book, minutes, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { config } from '../installation.ts';
import { byHandWithin } from '../requests/fixtures.ts';

// Requests end by the clock.
jest.setTimeout(scaled(120_000));

const code = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|collision`);

const tasksOf = (id: string | undefined) => stored('Task', `code=${code}&focus=Appointment/${id}`);

const write = (schedule: Slot['schedule'], status: Slot['status'], from: number, to: number, extension = {}) =>
  medplum('front-desk', 'POST', '/Slot', {
    body: { resourceType: 'Slot', ...extension, schedule, status, start: minutes(from), end: minutes(to) },
  });

it('a block over a confirmed appointment: staff find it among their Tasks, once', async () => {
  const { slot, patient } = await aClinic();
  const booked = succeeded('Appointment', await book(proposed(patient, [slot])));
  expect((await write(slot.schedule, 'busy-unavailable', 10, 60)).status).toBe(201);
  const [task] = await eventually(() => tasksOf(booked.id)).is((found) => found.length > 0);
  expect(task).toMatchObject({ status: 'requested', priority: 'urgent', for: { reference: `Patient/${patient.id}` } });
  expect((await write(slot.schedule, 'busy-unavailable', 0, 20)).status).toBe(201);
  const [seen] = await stored('Appointment', `_id=${booked.id}`);
  expect(seen?.status).toBe('booked');
  expect(await tasksOf(booked.id)).toHaveLength(1);
});

it('an appointment of staff over a request that waits is refused, unless it is meant', async () => {
  const { slot, patient } = await aClinic(byHandWithin(60, 'min'));
  const pending = succeeded('Appointment', await book(proposed(patient, [slot])));
  expect(pending.status).toBe('pending');
  const refused = await write(slot.schedule, 'busy', 10, 60);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('schedule-overbooked')]);
  const onPurpose = { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] };
  expect((await write(slot.schedule, 'busy', 10, 60, onPurpose)).status).toBe(201);
  const [seen] = await stored('Appointment', `_id=${pending.id}`);
  expect(seen?.status).toBe('pending');
});
