import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/enqueue-booking.ts';
import { jobIn } from '../../../core/booking/async/task.ts';
import { belongsTo } from '../../../core/fhir/tags.ts';
import { config, configured } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aSlot,
  eventOf,
  inMinutes,
  invalid,
  only,
  parameters,
  problems,
  proposed,
  refused,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

async function setting() {
  const portal = await aPortal(medplum());
  const schedule = await aSchedule(medplum());
  const patient = await aPatient(medplum(), portal);
  const slot = await aSlot(medplum(), schedule, '09:00', '09:30');
  const body = proposed(patient, [slot]);
  const run = (input: unknown = body) => handler(medplum().medplum, eventOf(input, portal));
  return { portal, patient, schedule, slot, body, run };
}

describe('a booking that is carried out later', () => {
  it('is stored as a Task of the portal, which is answered without what was sent', async () => {
    const { portal, patient, body, run } = await setting();
    const answer = await run();
    expect(answer).toMatchObject({ resourceType: 'Task', status: 'requested' });
    expect(JSON.stringify(answer)).not.toContain('input');
    const stored = await medplum().read<Task>(`Task/${answer.id}`);
    expect(stored && belongsTo(stored, portal.id, config)).toBe(true);
    expect(stored && jobIn(stored)).toEqual({
      body,
      requestor: portal.id,
      requester: { reference: `ClientApplication/${portal.id}` },
      role: 'requestor',
      visible: [`Patient/${patient.id}`],
    });
  });

  it('is accepted although its slot is taken: it may be free by then', async () => {
    const { slot, run } = await setting();
    await medplum().change(slot, { status: 'busy' });
    expect(await run()).toMatchObject({ resourceType: 'Task' });
  });

  it.each([
    ['what is malformed', () => ({ resourceType: 'Appointment' }), 'bad-request'],
    ['what cannot be read', () => undefined, 'bad-request'],
    [
      'a slot that is not there',
      ({ body }: Awaited<ReturnType<typeof setting>>) => ({
        ...body,
        slot: [{ reference: 'Slot/00000000-0000-4000-8000-000000000000' }],
      }),
      'business-rule',
    ],
  ])('is refused at once for %s', async (_, input, id) => {
    const given = await setting();
    const body = input(given);
    const answer = await handler(medplum().medplum, eventOf(body, given.portal));
    expect(answer).toMatchObject({ resourceType: 'OperationOutcome', id });
  });

  it('is refused at once if nothing can be read of it', async () => {
    const { run } = await setting();
    expect(problems(await run({ resourceType: 'Parameters', parameter: [] }))).not.toEqual([]);
  });

  it('is no dry run', async () => {
    const { body, run } = await setting();
    const answer = await run(
      parameters({ name: 'appt-resource', resource: body }, { name: 'dry-run', valueBoolean: true }),
    );
    expect(answer).toMatchObject({
      id: 'bad-request',
      issue: [
        {
          details: { coding: [{ code: 'malformed-request' }] },
          diagnostics: expect.stringContaining('without Prefer: respond-async'),
          expression: ['Parameters.parameter'],
        },
      ],
    });
  });

  it.each([
    [{ maxOpenAppointments: 1, maxBookingsPerMinute: 99 }, 'portal-limit-reached Appointment'],
    [{ maxOpenAppointments: 99, maxBookingsPerMinute: 1 }, 'too-many-bookings Appointment'],
  ])('is one of so many (%j)', async (requestors, problem) => {
    const { patient, slot, run } = await setting();
    const [start, end] = [inMinutes(900), inMinutes(930)];
    await medplum().create({ ...proposed(patient, [slot], { start, end, status: 'booked' }), meta: patient.meta });
    expect(problems(await configured({ requestors }, () => run()))).toEqual([problem]);
  });

  it('is one of so many jobs that wait', async () => {
    const { run } = await setting();
    await configured({ requestors: { maxOpenAppointments: 9, maxBookingsPerMinute: 2 } }, async () => {
      await run();
      await run();
      expect(problems(await run())).toEqual(['too-many-bookings Appointment']);
    });
  });

  it('proposes other times if it is refused because its slot is gone', async () => {
    const { schedule, patient, slot, body, run } = await setting();
    const gone = await aSlot(medplum(), schedule, '09:30', '10:00');
    await medplum().fhir('DELETE', `Slot/${gone.id}`);
    const answer = await run(
      parameters(
        { name: 'appt-resource', resource: { ...body, ...proposed(patient, [slot, gone]) } },
        { name: 'schedule', valueReference: { reference: `Schedule/${schedule.id}` } },
      ),
    );
    expect(answer).toMatchObject({ resourceType: 'OperationOutcome' });
    expect(problems(answer).join()).toContain('slot-not-found');
  });
});

describe('a booking that cannot be accepted', () => {
  it.each([
    ['is refused', refused],
    ['is lost', () => 'no-answer' as const],
  ])('because the question who calls %s is to be sent again', async (_, answer) => {
    const { run } = await setting();
    medplum().interfere(only(({ type }) => type === 'read', answer));
    expect(await run()).toMatchObject({
      id: 'service-unavailable',
      issue: [{ diagnostics: 'The booking could not be accepted. Nothing was booked; try again in a moment.' }],
    });
  });

  it('for another reason is an error', async () => {
    const { run } = await setting();
    medplum().interfere(() => Promise.reject(new TypeError('broken')));
    await expect(run()).rejects.toThrow('broken');
  });

  it.each([
    ['refused', refused, 'The booking could not be accepted.'],
    ['invalid', invalid, 'The booking could not be accepted.'],
    ['lost', unavailable, 'may have been stored'],
    ['answered without the Task', () => ({ status: 200, body: { resourceType: 'Bundle' } }), 'could not be accepted'],
    ['answered with nothing', () => ({ status: 200, body: { resourceType: 'Bundle', entry: [] } }), 'not be accepted'],
  ])('because its Task is %s is told', async (_, answer, text) => {
    const { run } = await setting();
    medplum().interfere(only(writes, answer));
    expect(await run()).toMatchObject({
      id: 'service-unavailable',
      issue: [{ diagnostics: expect.stringContaining(text) }],
    });
  });
});
