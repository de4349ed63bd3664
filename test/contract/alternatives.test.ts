import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { eventually } from '../lib/until.ts';
import { accepting, alternativesIn, proposals, referencesTo, timesIn } from './alternatives/fixtures.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  minutes,
  parameters,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { heldUntil, hold } from './holds/fixtures.ts';
import { issuesOf, refusalOf, request, resourceIn } from './http.ts';
import { aBooking, cancellation, patch } from './patch/fixtures.ts';
import { aPolicedClinic, aSlotIn, count, length, policy, whole } from './policy/fixtures.ts';

const dryRun = { name: 'dry-run', valueBoolean: true };

const dry = (appointment: Appointment) => {
  const body = parameters(appointment);
  return { ...body, parameter: [...body.parameter, dryRun] };
};

/** The severities and codes of an outcome. */
const informed = (response: Parameters<typeof issuesOf>[0]) =>
  resourceIn('OperationOutcome', response).issue.map(({ severity, code }) => `${severity} ${code}`);

describe('$book with dry-run', () => {
  it('of what would be booked: 200, informational, and nothing is written', async () => {
    const { schedule, slot, patient } = await aClinic();
    const response = await book(dry(proposed(patient, [slot])));
    expect([response.status, informed(response)]).toEqual([200, ['information informational']]);
    expect(response.headers.get('location')).toBeNull();
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await appointmentsOn(slot)).toEqual([]);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('of what would be refused: the very refusal', async () => {
    const { slot, patient, type } = await aFullClinic([60]);
    const stranger = await aPatient('portal-b');
    for (const body of [proposed(patient, [slot], type), proposed(stranger, [slot], { ...type, start: 'today' })]) {
      const [judged, booked] = [await book(dry(body)), await book(parameters(body))];
      expect([judged.status, issuesOf(judged), timesIn(judged)]).toEqual([
        booked.status,
        issuesOf(booked),
        timesIn(booked),
      ]);
      expect(judged.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('of a move and of a request that was carried out: 200, and the appointment stays as it is', async () => {
    const { schedule, booked, patient, id } = await aBooking({ identifier: [{ system: 'urn:dry', value: '1' }] });
    const later = await aSlot(schedule, 60, 90);
    expect((await book(dry(proposed(patient, [later], { id, from: 60, to: 90 })))).status).toBe(200);
    const [now] = await stored('Appointment', `_id=${id}`);
    expect(now?.meta?.versionId).toBe(booked.meta?.versionId);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
  });

  it('uses up no quota, and makes no row for one', async () => {
    const { slot, patient } = await aPolicedClinic(5, count('maxOpenPerPatient', 1));
    const rows = async () => (await stored('Task', `_sort=-_lastUpdated&code=quota`)).length;
    const before = await rows();
    expect((await book(dry(whole(slot, patient)))).status).toBe(200);
    expect((await book(dry(whole(slot, patient)))).status).toBe(200);
    expect(await rows()).toBe(before);
    expect((await book(whole(slot, patient))).status).toBe(201);
  });

  it('with respond-async is answered at once', async () => {
    const { slot, patient } = await aClinic();
    const response = await book(dry(proposed(patient, [slot])), 'portal-a', { prefer: 'respond-async' });
    expect([response.status, response.headers.get('content-location')]).toEqual([200, null]);
  });

  it('that is false books, and that is no boolean is refused: 400', async () => {
    const { slot, patient } = await aClinic();
    const body = parameters(proposed(patient, [slot]));
    const wrong = await book({ ...body, parameter: [...body.parameter, { name: 'dry-run', valueString: 'yes' }] });
    expect(refusalOf(wrong)).toEqual([400, 'malformed-request Parameters.parameter[1]']);
    const twice = await book({ ...body, parameter: [...body.parameter, dryRun, dryRun] });
    expect(refusalOf(twice)).toEqual([400, 'malformed-request Parameters.parameter[2].valueBoolean']);
    const books = await book({ ...body, parameter: [...body.parameter, { ...dryRun, valueBoolean: false }] });
    expect(books.status).toBe(201);
  });
});

it('$hold with dry-run holds nothing', async () => {
  const { schedule, slot, patient } = await aClinic();
  const response = await hold(dry(proposed(patient, [slot])));
  expect([response.status, informed(response)]).toEqual([200, ['information informational']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

/** A service of its own, so that other tests' schedules do not offer it. */
const aType = () => ({ serviceType: [{ coding: [{ system: 'urn:services', code: randomUUID() }] }] });

/** A clinic whose first half hour is booked, and free half hours after so many minutes. */
async function aFullClinic(free: readonly number[], more: Partial<Schedule> = {}) {
  const type = aType();
  const clinic = await aClinic({ ...type, ...more });
  const slots = [];
  for (const from of free) {
    slots.push(await aSlot(clinic.schedule, from, from + 30));
  }
  expect((await book(proposed(clinic.patient, [clinic.slot], type))).status).toBe(201);
  return { ...clinic, type, slots };
}

describe('a slot that is taken', () => {
  it('proposes the three nearest times of its schedule, which can be booked', async () => {
    const { patient, slot, slots, type } = await aFullClinic([120, 60, -60, 240]);
    const refused = await book(proposed(patient, [slot], type));
    expect(refusalOf(refused)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect(timesIn(refused)).toEqual(['-60--30', '60-90', '120-150']);
    expect(proposals(refused)[1]?.slots).toEqual(referencesTo(...slots.slice(1, 2)));
    for (const proposal of proposals(refused)) {
      expect((await book(accepting(proposal, patient, type))).status).toBe(201);
    }
  });

  it('proposes parts of a long slot', async () => {
    const type = aType();
    const { patient, slot } = await aClinic(type, { end: minutes(180) });
    expect((await book(proposed(patient, [slot], { ...type, from: 60, to: 90 }))).status).toBe(201);
    const refused = await book(proposed(patient, [slot], { ...type, from: 60, to: 90 }));
    expect(timesIn(refused)).toEqual(['30-60', '90-120', '0-30']);
    for (const proposal of proposals(refused)) {
      expect((await book(accepting(proposal, patient, type))).status).toBe(201);
    }
  });

  it('proposes several slots that follow one another', async () => {
    const type = aType();
    const { schedule, patient, slot } = await aClinic(type);
    const [next, far, farther] = [
      await aSlot(schedule, 30, 60),
      await aSlot(schedule, 120, 150),
      await aSlot(schedule, 150, 180),
    ];
    expect((await book(proposed(patient, [slot], type))).status).toBe(201);
    const refused = await book(proposed(patient, [slot, next], { ...type, to: 60 }));
    expect(proposals(refused)).toEqual([{ slots: referencesTo(far, farther), start: minutes(120), end: minutes(180) }]);
  });

  it('of two schedules proposes times that are free in both', async () => {
    const [room, surgeon] = [await aFullClinic([60, 120]), await aFullClinic([90, 120])];
    const refused = await book(proposed(room.patient, [room.slot, surgeon.slot], { serviceType: undefined }));
    expect(timesIn(refused)).toEqual(['120-150']);
    expect(proposals(refused)[0]?.slots).toHaveLength(2);
  });

  it('proposes times of others of the same service after its own', async () => {
    const { patient, slot, type } = await aFullClinic([600]);
    const colleague = await aSchedule(type);
    const [near] = [await aSlot(colleague, 0, 30), await aSlot(await aSchedule(aType()), 0, 30)];
    const closed = await aSchedule({ ...type, active: false });
    await aSlot(closed, 0, 30);
    const refused = await book(proposed(patient, [slot], type));
    expect(timesIn(refused)).toEqual(['600-630', '0-30']);
    expect(proposals(refused)[1]?.slots).toEqual(referencesTo(near));
  });

  it('proposes nothing that is held or taken', async () => {
    const { schedule, patient, slot, slots, type } = await aFullClinic([60, 120]);
    const mine = resourceIn(
      'Appointment',
      await hold(proposed(patient, slots.slice(0, 1), { ...type, from: 60, to: 90 })),
    );
    await aSlot(schedule, 130, 140, { status: 'busy-unavailable' });
    const refused = await book(proposed(patient, [slot], type));
    expect([issuesOf(refused), timesIn(refused)]).toEqual([['slot-not-free Appointment.slot[0]'], []]);
    expect((await patch(mine.id ?? '', cancellation)).status).toBe(200);
    expect(timesIn(await book(proposed(patient, [slot], type)))).toEqual(['60-90']);
  });

  it('proposes nothing where something else speaks against the booking', async () => {
    const { slot, type } = await aFullClinic([60]);
    const stranger = await aPatient('portal-b');
    const refused = await book(proposed(stranger, [slot], type));
    expect(issuesOf(refused)).toContain('patient-not-found Appointment.participant[0].actor');
    expect(alternativesIn(resourceIn('OperationOutcome', refused)).flat()).toEqual([]);
  });

  it('to a hold, and to a move', async () => {
    const { patient, slot, slots, type } = await aFullClinic([60, 120]);
    const held = await hold(proposed(patient, [slot], type));
    expect([held.status, timesIn(held)]).toEqual([409, ['60-90', '120-150']]);
    const { id } = succeeded(
      'Appointment',
      await book(proposed(patient, slots.slice(0, 1), { ...type, from: 60, to: 90 })),
    );
    const moved = await book(proposed(patient, [slot], { ...type, id }));
    expect([moved.status, timesIn(moved)]).toEqual([409, ['120-150']]);
    const [other] = proposals(moved);
    expect(other && (await book(accepting(other, patient, { ...type, id }))).status).toBe(201);
  });

  it('to an asynchronous booking, in its result', async () => {
    const { patient, slot, type } = await aFullClinic([60]);
    const accepted = await book(proposed(patient, [slot], type), 'portal-a', { prefer: 'respond-async' });
    expect(accepted.status).toBe(202);
    const location = accepted.headers.get('content-location') ?? '';
    const result = await eventually(() => request('portal-a', 'GET', location.slice(location.indexOf('/async/')))).is(
      ({ status }) => status !== 202,
    );
    expect([result.status, timesIn(result)]).toEqual([409, ['60-90']]);
  });
});

describe('what a policy refuses', () => {
  it('too soon: proposes the first times that are late enough', async () => {
    const { schedule, patient, slot } = await aPolicedClinic(1, length('leadTime', 3, 'h'));
    const [early, late] = [await aSlotIn(2, schedule), await aSlotIn(4, schedule)];
    const refused = await book(whole(slot, patient));
    expect(refusalOf(refused)).toEqual([422, 'too-soon Appointment.start']);
    const slots = proposals(refused).flatMap((one) => one.slots);
    expect(slots.slice(0, 1)).toEqual(referencesTo(late));
    expect(slots).not.toEqual(expect.arrayContaining(referencesTo(early)));
  });

  it('too far ahead: proposes the last times that are open', async () => {
    const { schedule, patient, slot } = await aPolicedClinic(9, length('window', 8, 'h'));
    const near = await aSlotIn(7, schedule);
    const refused = await book(whole(slot, patient));
    expect(refusalOf(refused)).toEqual([422, 'too-far-ahead Appointment.start']);
    expect(proposals(refused)[0]?.slots).toEqual(referencesTo(near));
  });

  it('a hold that is over and whose time is taken: proposes others under its id', async () => {
    const { patient, slot, slots, type } = await aFullClinic([60, 120], policy(length('holdFor', 1, 's')));
    const held = resourceIn(
      'Appointment',
      await hold(proposed(patient, slots.slice(0, 1), { ...type, from: 60, to: 90 })),
    );
    await eventually(async () => Date.now()).is((now) => now > Date.parse(heldUntil(held) ?? ''));
    expect((await book(proposed(patient, slots.slice(0, 1), { ...type, from: 60, to: 90 }))).status).toBe(201);
    const late = await book(proposed(patient, slots.slice(0, 1), { ...type, id: held.id, from: 60, to: 90 }));
    expect([late.status, issuesOf(late), timesIn(late)]).toEqual([
      409,
      ['hold-expired Appointment.slot[0]'],
      ['120-150'],
    ]);
    expect(slot.id).toBeDefined();
  });

  it('a schedule that is closed, or a slot that is not there: proposes others of the service', async () => {
    const type = aType();
    const { schedule, slot, patient } = await aClinic({ ...type, active: false });
    const colleague = await aSlot(await aSchedule(type), 60, 90);
    const closed = await book(proposed(patient, [slot], type));
    expect(refusalOf(closed)).toEqual([422, 'schedule-inactive Appointment.slot[0]']);
    expect(proposals(closed).map(({ slots }) => slots)).toEqual([referencesTo(colleague)]);
    const unknown = await book(proposed(patient, [{ ...slot, id: randomUUID() }], type));
    expect(refusalOf(unknown)).toEqual([422, 'slot-not-found Appointment.slot[0]']);
    expect(proposals(unknown).map(({ slots }) => slots)).toEqual([referencesTo(colleague)]);
    expect(schedule.active).toBe(false);
  });
});
