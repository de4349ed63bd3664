import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { aPatient, aSlot, book, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { patch } from '../patch/fixtures.ts';
import { aPending, edit, inMedplum } from '../status/fixtures.ts';
import { aRequest, deadlineIn, over, runBot, tasksOf } from './fixtures.ts';

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
    expect([refused.status, issuesOf(refused)]).toEqual([400, ['immutable-element Appointment.extension']]);
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
    expect(taken.status).toBe(201);
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
    const answer = await book(proposed(patient, [slot], { id }), 'front-desk');
    expect([answer.status, resourceIn('Appointment', answer).id]).toEqual([201, id]);
    const booked = await inMedplum(id);
    expect([booked.status, deadlineIn(booked), reasonOf(booked)]).toEqual(['booked', undefined, undefined]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
    expect((await tasksOf(id)).filter(({ status }) => status === 'requested')).toEqual([]);
  });

  it('the portal asks anew under its id, and it waits anew', async () => {
    const { slot, patient, id } = await anOverdueOne();
    const answer = await book(proposed(patient, [slot], { id }));
    const again = resourceIn('Appointment', answer);
    expect([answer.status, again.id, again.status]).toEqual([202, id, 'pending']);
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
      expect([late.status, issuesOf(late)]).toEqual([409, ['confirmation-expired Appointment.slot[0]']]);
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
