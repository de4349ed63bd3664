import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aPatient, aSchedule, aSlot, book, parameters, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { deletePatient, editPatient, merge } from '../patients-who-go/fixtures.ts';
import { edit } from '../status/fixtures.ts';
import { aRequest, byHandWithin, deadlineIn, over, runBot, tasksOf } from './fixtures.ts';

type Waiting = Awaited<ReturnType<typeof aRequest>>;

const statuses = (tasks: readonly Task[]): string => tasks.map(({ status }) => status).join();

/** Waits until the Task of a request has a status: what staff do in Medplum is followed a moment later. */
const turnsTo = (status: Task['status'], { id }: Waiting) =>
  until(
    () => tasksOf(id),
    (tasks) => statuses(tasks) === status,
  );

const changeTask = async (task: Task | undefined, changes: Partial<Task>) =>
  medplum('front-desk', 'PUT', `/Task/${task?.id}`, { body: { ...task, ...changes } });

describe('the Task of a request is over whenever it leaves waiting', () => {
  it.each<[string, (waiting: Waiting) => Promise<unknown>]>([
    ['confirmed in Medplum', ({ id }) => edit(id, { status: 'booked' })],
    ['refused in Medplum', ({ id }) => edit(id, { status: 'cancelled' })],
    [
      'confirmed at the service',
      ({ id }) => patch(id, [{ op: 'replace', path: '/status', value: 'booked' }], 'front-desk'),
    ],
    ['cancelled by the portal', ({ id }) => patch(id, cancellation)],
    ['its patient made inactive', ({ patient }) => editPatient(patient, { active: false })],
    ['its patient deleted', ({ patient }) => deletePatient(patient)],
    [
      'refused, and deleted at once',
      async ({ id }) => {
        await edit(id, { status: 'cancelled' });
        expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
      },
    ],
    [
      'replaced by another one',
      async ({ schedule, patient, id }) => {
        const slot = await aSlot(schedule, 60, 90);
        const body = parameters(proposed(patient, [slot], { from: 60, to: 90 }));
        const parameter = [...body.parameter, { name: 'cancelled-appt-id', valueUri: `Appointment/${id}` }];
        expect((await book({ ...body, parameter })).status).toBe(202);
      },
    ],
    [
      'moved to a schedule that confirms at once',
      async ({ patient, id }) => {
        const slot = await aSlot(await aSchedule(), 0, 30);
        expect((await book(proposed(patient, [slot], { id }))).status).toBe(201);
      },
    ],
  ])('%s: completed', async (_, leave) => {
    const waiting = await aRequest(2, 'd');
    await leave(waiting);
    await turnsTo('completed', waiting);
  });

  it('by PATCH in the very transaction: no moment between', async () => {
    const waiting = await aRequest(2, 'd');
    expect((await patch(waiting.id, cancellation)).status).toBe(200);
    expect(statuses(await tasksOf(waiting.id))).toBe('completed');
  });

  it('moved to another time: the same Task, with the new deadline', async () => {
    const { schedule, patient, pending, id } = await aRequest(2, 'd');
    const [before] = await tasksOf(id);
    const slot = await aSlot(schedule, 60, 90);
    const moved = resourceIn('Appointment', await book(proposed(patient, [slot], { id, from: 60, to: 90 })));
    expect(moved.status).toBe('pending');
    expect(Date.parse(deadlineIn(moved) ?? '')).toBeGreaterThan(Date.parse(deadlineIn(pending) ?? ''));
    const tasks = await tasksOf(id);
    expect(tasks).toMatchObject([{ id: before?.id, restriction: { period: { end: deadlineIn(moved) } } }]);
  });

  it('sent again for the same time: the deadline stays', async () => {
    const { slot, patient, pending, id } = await aRequest(2, 'd');
    const again = resourceIn('Appointment', await book(proposed(patient, [slot], { id, comment: 'Lift needed' })));
    expect([again.comment, deadlineIn(again)]).toEqual(['Lift needed', deadlineIn(pending)]);
    expect(await tasksOf(id)).toHaveLength(1);
  });

  it('its patient merged: the Task names the survivor', async () => {
    const waiting = await aRequest(2, 'd');
    const survivor = await aPatient();
    await merge(waiting.patient, survivor);
    await until(
      () => tasksOf(waiting.id),
      ([task]) => task?.for?.reference === `Patient/${survivor.id}` && task.status === 'requested',
    );
  });
});

describe('a booking that becomes a request', () => {
  it('from a hold: one Task, with its patient', async () => {
    const schedule = await aSchedule(byHandWithin(2, 'd'));
    const [slot, patient] = [await aSlot(schedule, 0, 30), await aPatient()];
    const { participant: _, ...without } = proposed(patient, [slot]);
    const held = resourceIn('Appointment', await request('portal-a', 'POST', '/Appointment/$hold', { body: without }));
    expect(await tasksOf(held.id)).toEqual([]);
    expect((await book(proposed(patient, [slot], { id: held.id }))).status).toBe(202);
    expect(await tasksOf(held.id)).toMatchObject([
      { status: 'requested', for: { reference: `Patient/${patient.id}` } },
    ]);
  });

  it('with a new patient: the Task names the one that is created', async () => {
    const schedule = await aSchedule(byHandWithin(2, 'd'));
    const slot = await aSlot(schedule, 0, 30);
    const { participant: _, ...appointment } = proposed(await aPatient(), [slot]);
    const patient = { resourceType: 'Patient', name: [{ family: 'Neu' }] };
    const pending = succeeded('Appointment', await book(parameters(appointment, ['patient', patient])));
    const reference = pending.participant[0]?.actor?.reference;
    expect(reference).toMatch(/^Patient\//);
    expect(await tasksOf(pending.id)).toMatchObject([{ for: { reference } }]);
  });

  it('carried out asynchronously: its Task names appointment and portal', async () => {
    const schedule = await aSchedule(byHandWithin(2, 'd'));
    const [slot, patient] = [await aSlot(schedule, 0, 30), await aPatient()];
    const accepted = await book(proposed(patient, [slot]), 'portal-a', { prefer: 'respond-async' });
    const path = (accepted.headers.get('content-location') ?? '').replace(/^.*(?=\/async\/)/, '');
    const answer = await until(
      () => request('portal-a', 'GET', path),
      ({ status }) => status !== 202,
    );
    const pending = resourceIn('Appointment', answer);
    const [task, ...more] = await tasksOf(pending.id);
    expect([task?.status, task?.requester?.reference?.split('/')[0], more.length]).toEqual([
      'requested',
      'ClientApplication',
      0,
    ]);
  });
});

describe('what staff do with the Task', () => {
  it('taken by somebody: the request still ends at its deadline', async () => {
    const waiting = await aRequest(2, 's');
    const [task] = await tasksOf(waiting.id);
    expect((await changeTask(task, { status: 'in-progress', priority: 'asap' })).status).toBe(200);
    await over(waiting.pending);
    await runBot('end-requests');
    expect(await slotsOf(waiting.schedule)).toEqual(['free 0-30']);
    expect(statuses(await tasksOf(waiting.id))).toBe('cancelled');
  });

  it.each<[string, (task: Task | undefined) => Promise<{ readonly status: number }>]>([
    ['closed', (task) => changeTask(task, { status: 'completed' })],
    ['deleted', (task) => medplum('front-desk', 'DELETE', `/Task/${task?.id}`)],
  ])('%s by hand: the request ends all the same', async (_, close) => {
    const waiting = await aRequest(2, 's');
    const [task] = await tasksOf(waiting.id);
    expect((await close(task)).status).toBe(200);
    await over(waiting.pending);
    await runBot('reconcile');
    expect(await slotsOf(waiting.schedule)).toEqual(['free 0-30']);
  });
});

describe('the reminder', () => {
  it('comes once most of the time is over: the Task is urgent; what staff set stays', async () => {
    const [waiting, early, taken] = [await aRequest(2, 'd'), await aRequest(2, 'd'), await aRequest(2, 'd')];
    const authoredOn = new Date(Date.now() - 30 * 86_400_000).toISOString();
    await changeTask((await tasksOf(waiting.id))[0], { authoredOn });
    await changeTask((await tasksOf(taken.id))[0], { authoredOn, priority: 'asap' });
    await runBot('end-requests');
    const priorities = async () =>
      (await Promise.all([waiting, early, taken].map(({ id }) => tasksOf(id)))).map(([task]) => task?.priority);
    expect(await priorities()).toEqual(['urgent', 'routine', 'asap']);
    await changeTask((await tasksOf(waiting.id))[0], { priority: 'routine' });
    await runBot('end-requests');
    expect(await priorities()).toEqual(['routine', 'routine', 'asap']);
    expect((await request('portal-a', 'GET', `/Appointment/${waiting.id}`)).status).toBe(200);
  });
});
