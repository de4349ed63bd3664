import { expect, it, jest } from '@jest/globals';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';
import { aClinic, minutes, proposed, stored } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { config } from '../installation.ts';

// Very many appointments take their time.
jest.setTimeout(scaled(120_000));

const code = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|collision`);

it('a block over very many confirmed appointments: staff find each of them', async () => {
  const { schedule, patient } = await aClinic({}, { start: minutes(10_000), end: minutes(10_030) });
  const blockOf = (from: number, to: number) => ({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'busy-unavailable',
    start: minutes(from),
    end: minutes(to),
  });
  const times = Array.from({ length: 205 }, (_, index) => [index * 10, index * 10 + 10] as const);
  const entry = times.flatMap(([from, to], index) => {
    const fullUrl = `urn:uuid:00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const booked = { ...proposed(patient, [], { from, to }), status: 'booked', slot: [{ reference: fullUrl }] };
    return [
      { fullUrl, request: { method: 'POST', url: 'Slot' }, resource: { ...blockOf(from, to), status: 'busy' } },
      { request: { method: 'POST', url: 'Appointment' }, resource: booked },
    ];
  });
  for (let index = 0; index < entry.length; index += 82) {
    const body = { resourceType: 'Bundle', type: 'transaction', entry: entry.slice(index, index + 82) };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
  }
  expect((await medplum('front-desk', 'POST', '/Slot', { body: blockOf(0, 2_050) })).status).toBe(201);
  const appointments = await stored('Appointment', `patient=Patient/${patient.id}`);
  expect(appointments).toHaveLength(205);
  const focuses = await eventually(async () => {
    const tasks = await stored('Task', `code=${code}&patient=Patient/${patient.id}`);
    return new Set(tasks.map(({ focus }) => focus?.reference));
  }, 60_000).is(({ size }) => size === 205);
  expect(focuses).toEqual(new Set(appointments.map(({ id }) => `Appointment/${id}`)));
});
