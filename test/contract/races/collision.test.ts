import { expect, it, jest } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
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

it('an appointment of staff over a request that waits is refused with its Slot, unless it is meant', async () => {
  const { slot, patient } = await aClinic(byHandWithin(60, 'min'));
  const pending = succeeded('Appointment', await book(proposed(patient, [slot])));
  expect(pending.status).toBe('pending');
  const fullUrl = 'urn:uuid:5b0e2d6a-3f0c-4f0e-9d6b-0a4b6a3d1c11';
  const time = { start: minutes(10), end: minutes(60) };
  const made = { resourceType: 'Slot', schedule: slot.schedule, status: 'busy', ...time };
  const act = (url: string) => ({
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { fullUrl, request: { method: 'POST', url: 'Slot' }, resource: made },
      {
        request: { method: 'POST', url: 'Appointment' },
        resource: {
          ...{ resourceType: 'Appointment', status: 'booked', ...time, slot: [{ reference: fullUrl }] },
          extension: [{ url, valueBoolean: true }],
          participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
        },
      },
    ],
  });
  const refused = await medplum('front-desk', 'POST', '', { body: act('https://example.org/other') });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('schedule-overbooked')]);
  const unvalidated = 'https://medplum.com/fhir/StructureDefinition/SchedulingUnvalidatedBooking';
  expect((await medplum('front-desk', 'POST', '', { body: act(unvalidated) })).status).toBe(200);
  const [seen] = await stored('Appointment', `_id=${pending.id}`);
  expect(seen?.status).toBe('pending');
});
