import { expect, it, jest } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { scaled } from '../../lib/time-scale.ts';
import { until } from '../../lib/until.ts';
import { aClinic, book, minutes, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { config } from '../installation.ts';
import { byHandWithin } from '../requests/fixtures.ts';

// Requests end by the clock, and very many appointments take their time.
jest.setTimeout(scaled(120_000));

const code = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|collision`);

const tasksOf = (id: string | undefined) => stored('Task', `code=${code}&focus=Appointment/${id}`);

const write = (
  schedule: Slot['schedule'],
  status: Slot['status'],
  from: number,
  to: number,
  extension?: Slot['extension'],
) =>
  medplum('front-desk', 'POST', '/Slot', {
    body: {
      resourceType: 'Slot',
      ...(extension && { extension }),
      schedule,
      status,
      start: minutes(from),
      end: minutes(to),
    },
  });

it('a block over a confirmed appointment: staff find it among their Tasks, once', async () => {
  const { slot, patient } = await aClinic();
  const booked = succeeded('Appointment', await book(proposed(patient, [slot])));
  expect((await write(slot.schedule, 'busy-unavailable', 10, 60)).status).toBe(201);
  const [task] = await until(
    () => tasksOf(booked.id),
    (found) => found.length > 0,
  );
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
  const onPurpose = [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }];
  expect((await write(slot.schedule, 'busy', 10, 60, onPurpose)).status).toBe(201);
  const [seen] = await stored('Appointment', `_id=${pending.id}`);
  expect(seen?.status).toBe('pending');
});

it('a block over very many confirmed appointments: staff find each of them', async () => {
  const { schedule, patient } = await aClinic({}, { start: minutes(10_000), end: minutes(10_030) });
  const times = Array.from({ length: 205 }, (_, index) => [index * 10, index * 10 + 10] as const);
  const entry = times.flatMap(([from, to], index) => {
    const fullUrl = `urn:uuid:00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const own = { resourceType: 'Slot', schedule: { reference: `Schedule/${schedule.id}` }, status: 'busy' };
    const booked = { ...proposed(patient, [], { from, to }), status: 'booked', slot: [{ reference: fullUrl }] };
    return [
      {
        fullUrl,
        request: { method: 'POST', url: 'Slot' },
        resource: { ...own, start: minutes(from), end: minutes(to) },
      },
      { request: { method: 'POST', url: 'Appointment' }, resource: booked },
    ];
  });
  for (let index = 0; index < entry.length; index += 82) {
    const body = { resourceType: 'Bundle', type: 'transaction', entry: entry.slice(index, index + 82) };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
  }
  expect((await write({ reference: `Schedule/${schedule.id}` }, 'busy-unavailable', 0, 2_050)).status).toBe(201);
  const appointments = await stored('Appointment', `patient=Patient/${patient.id}`);
  expect(appointments).toHaveLength(205);
  const focuses = await until(
    async () => {
      const tasks = await stored('Task', `code=${code}&patient=Patient/${patient.id}`);
      return new Set(tasks.map(({ focus }) => focus?.reference));
    },
    ({ size }) => size === 205,
    60_000,
  );
  expect(focuses).toEqual(new Set(appointments.map(({ id }) => `Appointment/${id}`)));
});
