import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Bot, OperationOutcome, Task } from '@medplum/fhirtypes';
import { handler as processBookingBot } from '../../../bots/booking/process-booking.ts';
import { RUN_LIMIT } from '../../../bots/lib/rows.ts';
import { MAX_ATTEMPTS, taskOf } from '../../../core/booking/jobs/booking-task.ts';
import type { Role } from '../../../core/booking/policy/caller-rights.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aSlot,
  asks,
  byChance,
  eventOf,
  meanwhile,
  only,
  proposed,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

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
    for (let count = 0; count <= MAX_ATTEMPTS; count++) {
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
