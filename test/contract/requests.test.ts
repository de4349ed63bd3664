import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Task } from '@medplum/fhirtypes';
import { eventually } from '../lib/until.ts';
import { aClinic, aPatient, aSchedule, aSlot, book, parameters, proposed, slotsOf, succeeded } from './fixtures.ts';
import { isActionable, issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { about, subscribed } from './notifications/fixtures.ts';
import { eventEntries, events } from './notifications/listener.ts';
import { aListener } from './notifications/stand-ins.ts';
import { cancellation, patch } from './patch/fixtures.ts';
import { deletePatient, editPatient, merge } from './patients-who-go/fixtures.ts';
import { aRequest, byHandWithin, deadlineIn, over, runBot, tasksOf } from './requests/fixtures.ts';
import { aPending, edit, inMedplum } from './status/fixtures.ts';

const confirmation = [{ op: 'replace', path: '/status', value: 'booked' }];
const reasonOf = ({ cancelationReason }: Appointment) => cancelationReason?.coding?.[0]?.code;

/** A request whose deadline is over, and that nobody has tidied up. */
async function anOverdueOne() {
  const made = await aRequest(1, 's');
  await over(made.pending);
  return made;
}

/** From now on bookings of a schedule are confirmed at once. */
async function confirmAtOnce({ extension: _, ...schedule }: Schedule): Promise<void> {
  succeeded('Schedule', await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body: schedule }));
}

describe('a request with a deadline', () => {
  it('carries it, and waits in a Task with patient, portal and deadline', async () => {
    const before = Date.now();
    const { pending, patient, id } = await aRequest(2, 'd');
    const deadline = Date.parse(deadlineIn(pending) ?? '');
    expect(pending.status).toBe('pending');
    expect(deadline).toBeGreaterThanOrEqual(before + 2 * 86_400_000);
    expect(deadline).toBeLessThanOrEqual(Date.now() + 2 * 86_400_000);
    const [task, ...more] = await tasksOf(id);
    expect(more).toEqual([]);
    expect(task).toMatchObject({
      status: 'requested',
      intent: 'order',
      priority: 'routine',
      focus: { reference: `Appointment/${id}` },
      for: { reference: `Patient/${patient.id}` },
      restriction: { period: { end: deadlineIn(pending) } },
    });
    expect(task?.description).toContain('2031-01-06');
    expect(Date.parse(task?.authoredOn ?? '')).toBeGreaterThanOrEqual(before);
    expect(task?.requester?.reference).toMatch(/^ClientApplication\//);
  });

  it('is found by portal, patient and deadline, and sorted by its deadline', async () => {
    const [later, sooner] = [await aRequest(3, 'd'), await aRequest(1, 'd')];
    const [task] = await tasksOf(later.id);
    const query = [
      `requester=${task?.requester?.reference}`,
      `patient=Patient/${later.patient.id},Patient/${sooner.patient.id}`,
      `due-date=le${deadlineIn(later.pending)}`,
      'priority=routine',
      '_sort=due-date',
    ].join('&');
    const found = resourceIn('Bundle', await medplum('front-desk', 'GET', `/Task?${query}`));
    const focuses = (found.entry ?? []).flatMap(({ resource }) =>
      resource?.resourceType === 'Task' ? (resource.focus?.reference ?? []) : [],
    );
    expect(focuses).toEqual([`Appointment/${sooner.id}`, `Appointment/${later.id}`]);
  });

  it('is not shown to portals: neither the Task in Medplum nor the route in the service', async () => {
    const { id } = await aRequest(2, 'd');
    const [task] = await tasksOf(id);
    expect((await medplum('portal-a', 'GET', `/Task/${task?.id}`)).status).toBe(404);
    expect((await request('portal-a', 'GET', `/Task/${task?.id}`)).status).toBe(404);
  });

  it('ends at the start of the appointment at the latest', async () => {
    const { pending } = await aRequest(52, 'wk');
    expect(Date.parse(deadlineIn(pending) ?? '')).toBeLessThanOrEqual(Date.parse(pending.start ?? ''));
  });

  it('without the policy there is no deadline and no Task', async () => {
    const { pending, id } = await aPending();
    expect(deadlineIn(pending)).toBeUndefined();
    expect(await tasksOf(id)).toEqual([]);
  });

  it('the portal cannot set or change it', async () => {
    const { pending, id } = await aRequest(2, 'd');
    const refused = await patch(id, [
      { op: 'replace', path: '/extension/0/valueInstant', value: '2031-01-01T00:00:00Z' },
    ]);
    expect(refusalOf(refused)).toEqual([400, 'immutable-element Appointment.extension']);
    expect((await inMedplum(id)).extension).toEqual(pending.extension);
  });
});

describe('at the deadline', () => {
  it('the request is cancelled with a coded reason, its time is free, its Task over', async () => {
    const { schedule, id } = await anOverdueOne();
    await runBot('end-requests');
    const ended = await inMedplum(id);
    expect([ended.status, reasonOf(ended)]).toEqual(['cancelled', 'confirmation-expired']);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await tasksOf(id)).toMatchObject([
      { status: 'cancelled', statusReason: { coding: [{ code: 'confirmation-expired' }] } },
    ]);
    const { meta } = ended;
    await runBot('end-requests');
    expect((await inMedplum(id)).meta?.versionId).toBe(meta?.versionId);
  });

  it('its time counts as free for others although nothing has tidied it up', async () => {
    const { schedule, slot, id } = await anOverdueOne();
    await confirmAtOnce(schedule);
    const others = await aPatient('portal-b');
    const taken = await book(proposed(others, [slot], { from: 0, to: 20 }), 'portal-b');
    expect([taken.status, taken.status === 201 || taken.text]).toEqual([201, true]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30']);
    const ended = await inMedplum(id);
    expect([ended.status, reasonOf(ended)]).toEqual(['cancelled', 'confirmation-expired']);
    await runBot('end-requests');
    expect(await tasksOf(id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30']);
  });

  it.each<[string, (id: string) => ReturnType<typeof edit>]>([
    ['in Medplum', (id) => edit(id, { status: 'booked' })],
    ['at the service', (id) => patch(id, confirmation, 'front-desk')],
  ])('a confirmation %s that comes too late is refused with a sentence', async (_, confirm) => {
    const { schedule, id } = await anOverdueOne();
    const refused = await confirm(id);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(issuesOf(refused)).toEqual(['confirmation-expired Appointment.status']);
    expect(refused.text).toContain('$book');
    await runBot('end-requests');
    expect(issuesOf(await confirm(id))).toEqual(['confirmation-expired Appointment.status']);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('staff may still refuse it, with their own reason', async () => {
    const { schedule, id } = await anOverdueOne();
    const cancelationReason = { text: 'The practitioner is ill' };
    expect((await edit(id, { status: 'cancelled', cancelationReason })).status).toBe(200);
    await runBot('end-requests');
    expect(await inMedplum(id)).toMatchObject({ status: 'cancelled', cancelationReason });
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect((await tasksOf(id)).map(({ status }) => status)).not.toContain('requested');
  });

  it.each([
    ['before', async () => undefined],
    ['after', () => runBot('end-requests')],
  ])('staff book it anew in one step %s it is tidied up: the same id, confirmed', async (_, tidyUp) => {
    const { schedule, slot, patient, id } = await anOverdueOne();
    await tidyUp();
    const response = await book(proposed(patient, [slot], { id }), 'front-desk');
    expect([response.status, resourceIn('Appointment', response).id]).toEqual([201, id]);
    const booked = await inMedplum(id);
    expect([booked.status, deadlineIn(booked), reasonOf(booked)]).toEqual(['booked', undefined, undefined]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
    expect((await tasksOf(id)).filter(({ status }) => status === 'requested')).toEqual([]);
  });

  it('the portal asks anew under its id, and it waits anew', async () => {
    const { slot, patient, id } = await anOverdueOne();
    const response = await book(proposed(patient, [slot], { id }));
    const again = resourceIn('Appointment', response);
    expect([response.status, again.id, again.status]).toEqual([202, id, 'pending']);
    const deadlines = (await tasksOf(id)).map(({ restriction }) => restriction?.period?.end);
    expect(deadlines).toContain(deadlineIn(again));
  });

  it('if the time is taken meanwhile, 409 confirmation-expired says so', async () => {
    const { schedule, slot, patient, id } = await anOverdueOne();
    await confirmAtOnce(schedule);
    const others = await aPatient('portal-b');
    expect((await book(proposed(others, [slot]), 'portal-b')).status).toBe(201);
    for (const role of ['portal-a', 'front-desk'] as const) {
      const late = await book(proposed(patient, [slot], { id }), role);
      expect(refusalOf(late)).toEqual([409, 'confirmation-expired Appointment.slot[0]']);
      expect(isActionable(late)).toBe(true);
    }
  });

  it('staff make a new appointment on its slot in Medplum before anything has tidied it up', async () => {
    const { slot, patient } = await anOverdueOne();
    const body = { ...proposed(patient, [slot]), status: 'booked' };
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
  });

  it('a request sent again with its identifier after the deadline is a new request', async () => {
    const { schedule, patient } = await aRequest(1, 's');
    const slot = await aSlot(schedule, 60, 90);
    const identifier = [{ system: 'urn:requests', value: slot.id }];
    const body = proposed(patient, [slot], { identifier, from: 60, to: 90 });
    const first = succeeded('Appointment', await book(body));
    expect((await book(body)).status).toBe(202);
    await over(first);
    const again = await book(body);
    expect(again.status).toBe(202);
    expect(resourceIn('Appointment', again).id).not.toBe(first.id);
    expect((await inMedplum(first.id ?? '')).status).toBe('cancelled');
  });
});

type Waiting = Awaited<ReturnType<typeof aRequest>>;
const statuses = (tasks: readonly Task[]): string => tasks.map(({ status }) => status).join();

/** Waits until the Task of a request has a status: what staff do in Medplum is followed a moment later. */
const turnsTo = (status: Task['status'], { id }: Waiting) =>
  eventually(() => tasksOf(id)).is((tasks) => statuses(tasks) === status);

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
    await eventually(() => tasksOf(waiting.id)).is(
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
    const response = await eventually(() => request('portal-a', 'GET', path)).is(({ status }) => status !== 202);
    const pending = resourceIn('Appointment', response);
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

it('the reminder comes once most of the time is over: the Task is urgent; what staff set stays', async () => {
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

it.each<[string, (body: ReturnType<typeof proposed>) => Promise<unknown>]>([
  ['when the deadline is over', () => runBot('end-requests')],
  [
    'when somebody else takes the time first',
    async ({ slot, start, end }) => {
      const others = await aPatient('portal-b');
      await book({ ...proposed(others, []), slot, start, end }, 'portal-b');
    },
  ],
])('the portal is told, %s: cancelled, with the reason', async (_, end) => {
  const listener = await aListener();
  const { slot, patient } = await aClinic(byHandWithin(1, 's'));
  await subscribed(listener, { ...about(patient), content: 'full-resource' });
  const body = proposed(patient, [slot]);
  const pending = succeeded('Appointment', await book(body));
  await over(pending);
  await end(body);
  const notified = (await events(listener, 1))
    .flatMap(({ bundle }) => eventEntries(bundle))
    .map(({ resource }) => resource);
  expect(notified).toMatchObject([
    { id: pending.id, status: 'cancelled', cancelationReason: { coding: [{ code: 'confirmation-expired' }] } },
  ]);
});
