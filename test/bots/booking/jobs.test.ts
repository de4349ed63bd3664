import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Bot, OperationOutcome, Task } from '@medplum/fhirtypes';
import { handler as cancelBookingJobBot } from '../../../bots/booking/cancel-booking-job.ts';
import { handler as enqueueBookingBot } from '../../../bots/booking/enqueue-booking.ts';
import { handler as processBookingBot } from '../../../bots/booking/process-booking.ts';
import { RUN_LIMIT } from '../../../bots/lib/rows.ts';
import { MOST_ATTEMPTS, taskOf } from '../../../core/booking/jobs/booking-task.ts';
import type { Role } from '../../../core/booking/policy/caller-role.ts';
import { later, withClock } from '../clock.ts';
import { config, configured } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aSlot,
  asks,
  byChance,
  eventOf,
  inMinutes,
  meanwhile,
  only,
  overtaken,
  type Portal,
  parameters,
  policy,
  problems,
  proposed,
  tagsOf,
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
  const run = (input: unknown = body) => enqueueBookingBot(medplum().medplum, eventOf(input, portal));
  return { portal, patient, schedule, slot, body, run };
}

describe('a booking that is carried out later', () => {
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

const SOON = 6_000;
const DAY = 86_400_000;

/** A job of a portal, and the slot that it books. */
async function aJob(more: Partial<Appointment> = {}, role: Role = 'requestor', schedule = {}) {
  const portal = await aPortal(medplum());
  const patient = await aPatient(medplum(), portal);
  const slot = await aSlot(medplum(), await aSchedule(medplum(), schedule), '09:00', '09:30');
  const body = proposed(patient, [slot], more);
  const requester = { reference: `ClientApplication/${portal.id}` };
  const task = await medplum().create<Task>(taskOf(body, { requestor: portal.id, requester, role }, new Map(), config));
  return { portal, patient, slot, body, task };
}

const run = (task: Task) => processBookingBot(medplum().medplum, eventOf<Task | Bot>(task));
const tick = () => processBookingBot(medplum().medplum, eventOf<Task | Bot>({ resourceType: 'Bot', id: 'clock' }));
const read = ({ id }: Task) => medplum().read<Task>(`Task/${id}`);

const outcomeIn = (task: Task | undefined) =>
  (task?.contained?.[0] as OperationOutcome | undefined)?.issue[0]?.details?.coding?.[0]?.code;

/** Nothing of one test is left to the next. */
afterEach(async () => {
  medplum().interfere(() => undefined);
  const left = await medplum().find<Task>('Task?status=requested&_count=1000');
  await medplum().transaction(left.map(({ id }) => ({ request: { method: 'DELETE', url: `Task/${id}` } })));
});

describe('a job', () => {
  it('is carried out once', async () => {
    const { task } = await aJob();
    await run(task);
    const done = await read(task);
    await run(task);
    expect((await read(task))?.meta?.versionId).toBe(done?.meta?.versionId);
  });

  it('sees what its requestor saw, and no more', async () => {
    const { portal, task, slot } = await aJob();
    const stranger = await aPatient(medplum(), { id: 'another' });
    const body = proposed(stranger, [slot]);
    const of = { requestor: portal.id, requester: undefined, role: 'requestor' as const };
    const blind = await medplum().create<Task>(taskOf(body, of, new Map(), config));
    await run(blind);
    expect(outcomeIn(await read(blind))).toBe('patient-not-found');
    const seeing = await medplum().create<Task>(
      taskOf(body, of, new Map([[`Patient/${stranger.id}`, stranger]]), config),
    );
    await run(seeing);
    expect((await read(seeing))?.status).toBe('completed');
    expect((await read(task))?.status).toBe('requested');
  });

  it.each([
    ['requestor', 'failed'],
    ['repository', 'completed'],
  ] as const)('is bound by policies as a %s', async (role, status) => {
    const { task } = await aJob({}, role, { extension: [policy({ leadTime: 8_000 })] });
    await run(task);
    expect((await read(task))?.status).toBe(status);
  });

  it('that was ended, deleted, or is none is left alone', async () => {
    const { task, slot } = await aJob();
    await medplum().change<Task>(task, { status: 'cancelled' });
    await run(task);
    await medplum().fhir('DELETE', `Task/${task.id}`);
    await run(task);
    await run({ ...task, id: undefined } as unknown as Task);
    const input = [{ type: { text: 'job' }, valueString: '{' }];
    const { id: _, ...another } = task;
    await run(await medplum().create<Task>({ ...another, input }));
    await later(SOON, tick);
    expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: 'free' });
  });

  it('that is cancelled while it runs books nothing', async () => {
    const { task, slot } = await aJob();
    meanwhile(medplum(), writes, () => medplum().change<Task>(task, { status: 'cancelled' }));
    await expect(run(task)).rejects.toThrow();
    expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: 'free' });
    expect((await read(task))?.status).toBe('cancelled');
  });
});

it.each([
  [DAY - 60_000, 'requested'],
  [DAY + 60_000, 'failed'],
])('a job that cannot be carried out now is given up after a day (%i ms)', async (milliseconds, status) => {
  const { task } = await aJob();
  medplum().interfere(only(asks(/Appointment|Slot/), unavailable));
  await later(milliseconds, () => run(task)).catch(() => undefined);
  expect((await read(task))?.status).toBe(status);
});

describe('the clock', () => {
  it('carries out what was left over, and nothing that is new', async () => {
    const jobs = [await aJob(), await aJob()];
    await tick();
    await later(SOON, tick);
    expect(await Promise.all(jobs.map(async ({ task }) => (await read(task))?.status))).toEqual([
      'completed',
      'completed',
    ]);
  });

  it('goes on after a job that fails, and tells all that failed', async () => {
    const jobs = [await aJob(), await aJob(), await aJob()];
    const failing = jobs.slice(0, 2).map(({ slot }) => slot.id ?? '');
    medplum().interfere((asked) =>
      writes(asked) && failing.some((id) => asked.entries.includes(`PUT Slot/${id}`)) ? unavailable() : undefined,
    );
    const error: Error = await later(SOON, tick).then(
      () => new Error('none'),
      (thrown) => thrown,
    );
    expect(error.message.split('\n')).toHaveLength(2);
    expect(await Promise.all(jobs.map(async ({ task }) => (await read(task))?.status))).toEqual([
      'requested',
      'requested',
      'completed',
    ]);
  });

  it('refuses what fails again and again, also when it ends the process', async () => {
    const [failing, deadly] = [await aJob(), await aJob()];
    const isBooking = (asked: Asked) => writes(asked) && asked.entries.some((one) => one.startsWith('PUT Slot/'));
    medplum().interfere((asked) => {
      if (isBooking(asked) && asked.entries.includes(`PUT Slot/${deadly.slot.id}`)) {
        throw new Error('the process ends');
      }
      return isBooking(asked) ? unavailable() : undefined;
    });
    for (let count = 0; count <= MOST_ATTEMPTS; count++) {
      await later(SOON, tick).catch(() => undefined);
    }
    for (const { task, slot } of [failing, deadly]) {
      const ended = await read(task);
      expect([ended?.status, outcomeIn(ended), ended?.input]).toEqual(['failed', 'upstream-unavailable', undefined]);
      expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: 'free' });
    }
  });

  it.each([
    [RUN_LIMIT - 1, ['completed', 'completed']],
    [RUN_LIMIT, ['completed', 'requested']],
  ])('begins no job when its time is over (%i ms)', async (first, expected) => {
    const jobs = [await aJob(), await aJob()];
    await withClock((skip) => {
      skip(SOON);
      meanwhile(medplum(), writes, async () => skip(first));
      return byChance(0.5, tick);
    });
    const statuses = await Promise.all(jobs.map(async ({ task }) => (await read(task))?.status));
    expect(statuses.sort()).toEqual(expected);
  });
});

describe('cancel booking job', () => {
  const aJob = (portal: Portal, status: Task['status'] = 'requested') =>
    medplum().create<Task>({
      resourceType: 'Task',
      meta: tagsOf(portal),
      status,
      intent: 'order',
      input: [{ type: { text: 'job' }, valueString: '{}' }],
    });

  const cancel = (id: string | undefined, portal: Portal) =>
    cancelBookingJobBot(
      medplum().medplum,
      eventOf<unknown>(parameters({ name: 'other', valueId: 'x' }, { name: 'id', valueId: id }), portal),
    );

  const notFound = {
    id: 'not-found',
    issue: [{ code: 'not-found', diagnostics: 'There is no such job.', severity: 'error' }],
  };

  describe('a job', () => {
    it.each(['completed', 'failed', 'cancelled'] as const)('that is %s stays as it is', async (status) => {
      const portal = await aPortal(medplum());
      const job = await aJob(portal, status);
      const answer = await cancel(job.id, portal);
      expect(answer).toMatchObject({ id: job.id, status });
      expect(JSON.stringify(answer)).not.toContain('input');
    });

    it('that somebody ends meanwhile is shown as it is then', async () => {
      const portal = await aPortal(medplum());
      const job = await aJob(portal);
      meanwhile(medplum(), writes, () => medplum().change<Task>(job, { status: 'completed' }));
      expect(await cancel(job.id, portal)).toMatchObject({ status: 'completed' });
    });

    it('that is deleted meanwhile is unknown', async () => {
      const portal = await aPortal(medplum());
      const job = await aJob(portal);
      medplum().interfere(
        only(writes, async () => {
          await medplum().fhir('DELETE', `Task/${job.id}`);
          return overtaken();
        }),
      );
      expect(await cancel(job.id, portal)).toMatchObject(notFound);
    });
  });
});
