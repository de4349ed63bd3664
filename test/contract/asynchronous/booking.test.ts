import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually, until } from '../../lib/until.ts';
import { aClinic, aPatient, appointmentsOn, book, proposed, slotsOf } from '../fixtures.ts';
import { medplum, refusalOf, request, resourceIn } from '../http.ts';
import { base, config, type Role } from '../installation.ts';

const respondAsync = { prefer: 'respond-async' };

/** Hands a booking in and gives the path of its job. */
async function submit(body: unknown, role: Role = 'portal-a') {
  const response = await book(body, role, respondAsync);
  const location = response.headers.get('content-location') ?? '';
  expect(response.status).toBe(202);
  expect(location).toMatch(new RegExp(`^${base}/async/[A-Za-z0-9.-]+$`));
  return location.slice(base.length);
}

const ended = (path: string, role: Role = 'portal-a') =>
  eventually(() => request(role, 'GET', path)).is(({ status }) => status !== 202);

describe('asynchronous $book', () => {
  it('Prefer: respond-async: 202, Content-Location, then the booked Appointment', async () => {
    const { schedule, slot, patient } = await aClinic();
    const response = await ended(await submit(proposed(patient, [slot])));
    expect(response.status).toBe(200);
    expect(resourceIn('Appointment', response)).toMatchObject({
      status: 'booked',
      slot: [{ reference: `Slot/${slot.id}` }],
    });
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('a pending Appointment is the result, too', async () => {
    const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
    const { slot, patient } = await aClinic({ extension });
    const response = await ended(await submit(proposed(patient, [slot])));
    expect(response.status).toBe(200);
    expect(resourceIn('Appointment', response).status).toBe('pending');
  });

  it('the failure is the result: its status, its OperationOutcome', async () => {
    const { slot, patient } = await aClinic({}, { status: 'busy' });
    const response = await ended(await submit(proposed(patient, [slot])));
    expect(refusalOf(response)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  });

  it('an inactive patient fails it with 422', async () => {
    const { slot } = await aClinic();
    const patient = await aPatient('portal-a', { active: false });
    const response = await ended(await submit(proposed(patient, [slot])));
    expect(refusalOf(response)).toEqual([422, 'patient-inactive Appointment.participant[0].actor']);
  });

  it('the job keeps nothing of what was sent once it has ended, booked, refused or dropped', async () => {
    const { slot, patient } = await aClinic();
    const booked = await submit(proposed(patient, [slot]));
    const refused = await submit(proposed(patient, [slot], { identifier: [{ value: randomUUID() }] }));
    await Promise.all([ended(booked), ended(refused)]);
    const { slot: other, patient: another } = await aClinic();
    const dropped = await submit(proposed(another, [other]));
    await request('portal-a', 'DELETE', dropped);
    await ended(dropped);
    for (const path of [booked, refused, dropped]) {
      const task = resourceIn('Task', await medplum('admin', 'GET', `/Task/${path.split('/').at(-1)}`));
      expect(['completed', 'failed', 'cancelled']).toContain(task.status);
      expect(task.input).toBeUndefined();
    }
  });

  it("another requestor's patient is refused at once", async () => {
    const { slot } = await aClinic();
    const response = await book(proposed(await aPatient('portal-b'), [slot]), 'portal-a', respondAsync);
    expect(refusalOf(response)).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
  });

  it("another requestor's appointment is not moved by naming its id", async () => {
    const { slot, patient } = await aClinic();
    const foreign = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const own = await aClinic();
    const mine = await aPatient('portal-b');
    const path = await submit(proposed(mine, [own.slot], { id: foreign.id }), 'portal-b');
    const response = await ended(path, 'portal-b');
    expect(response.status).toBe(200);
    expect(resourceIn('Appointment', response).id).not.toBe(foreign.id);
    expect((await request('portal-a', 'GET', `/Appointment/${foreign.id}`)).body).toEqual(foreign);
  });

  it('the result is nobody else’s: 404 for a stranger and for an unknown job', async () => {
    const { slot, patient } = await aClinic();
    const path = await submit(proposed(patient, [slot]));
    expect((await request('portal-b', 'GET', path)).status).toBe(404);
    expect((await request('portal-b', 'DELETE', path)).status).toBe(404);
    expect((await request('portal-a', 'GET', `/async/${randomUUID()}`)).status).toBe(404);
    expect((await request('nobody', 'GET', path)).status).toBe(401);
    expect((await ended(path)).status).toBe(200);
  });

  it('while it runs: 202 with Retry-After and X-Progress', async () => {
    const askAtOnce = async () => {
      const { slot, patient } = await aClinic();
      const path = await submit(proposed(patient, [slot]));
      return { path, answer: await request('portal-a', 'GET', path) };
    };
    // A job that has ended already says nothing about this: another one is handed in.
    const { path, answer } = await until(askAtOnce, (asked) => asked.answer.status === 202);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answer.headers.get('x-progress')).toBeTruthy();
    expect((await ended(path)).status).toBe(200);
  });

  it('DELETE: 202; what was dropped in time is not booked, what was booked stays booked', async () => {
    const { slot, patient } = await aClinic();
    const path = await submit(proposed(patient, [slot]));
    expect((await request('portal-a', 'DELETE', path)).status).toBe(202);
    const response = await ended(path);
    expect(await appointmentsOn(slot)).toHaveLength(response.status === 200 ? 1 : 0);
    expect([200, 404]).toContain(response.status);
  });

  it('a retry by identifier leads both jobs to one appointment', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: [{ system: 'urn:portal-a', value: randomUUID() }] });
    const paths = await Promise.all([submit(body), submit(body)]);
    const [first, second] = await Promise.all(paths.map((path) => ended(path)));
    expect([first?.status, second?.status]).toEqual([200, 200]);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });
});
