import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, RelatedPerson, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { ownerOf } from '../../core/fhir/tags.ts';
import { eventually } from '../lib/until.ts';
import { aCalendar, aService, at, freeTimes, native, proposals, untilFree, wholeDay } from './calendar/fixtures.ts';
import { type Client, removeClient, standIn } from './clients.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  onSchedule,
  parameters,
  proposed,
  simultaneously,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { heldUntil, hold } from './holds/fixtures.ts';
import { issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { config } from './installation.ts';
import { cancellation, patch } from './patch/fixtures.ts';
import { count, length, policy } from './policy/fixtures.ts';

const clients: Client[] = [];

beforeAll(async () => {
  clients.push(await standIn('portal-a'), await standIn('portal-b'));
});

afterAll(async () => {
  await Promise.all(clients.map(removeClient));
});

const shortly = policy(length('holdFor', 1, 's'));
const withoutPatient = ({ participant: _, ...appointment }: ReturnType<typeof proposed>) => appointment;

/** Waits until a hold is over. */
const over = (held: ReturnType<typeof resourceIn<'Appointment'>>) =>
  eventually(async () => Date.now()).is((now) => now > Date.parse(heldUntil(held) ?? ''));

describe('$hold', () => {
  it('keeps the time without a patient: 201, proposed, busy-tentative, ten minutes', async () => {
    const { schedule, slot, patient } = await aClinic();
    const before = Date.now();
    const response = await hold(withoutPatient(proposed(patient, [slot])));
    const held = resourceIn('Appointment', response);
    expect([response.status, held.status]).toEqual([201, 'proposed']);
    expect(response.headers.get('location')).toMatch(`/Appointment/${held.id}`);
    const until = Date.parse(heldUntil(held) ?? '');
    expect(until).toBeGreaterThanOrEqual(before + 590_000);
    expect(until).toBeLessThanOrEqual(Date.now() + 610_000);
    expect(await slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
    await patch(held.id ?? '', cancellation);
  });

  it('takes only its part of a slot, and a cancellation gives the whole back', async () => {
    const { schedule, slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot], { from: 10, to: 20 })));
    expect(await slotsOf(schedule)).toEqual(['free 0-10', 'busy-tentative 10-20', 'free 20-30']);
    expect((await patch(held.id ?? '', cancellation)).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    const late = await book(proposed(patient, [slot], { id: held.id }));
    expect(refusalOf(late)).toEqual([409, 'appointment-closed Appointment.id']);
  });

  it('becomes a booking on the same id, which is no hold any more', async () => {
    const { schedule, slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(withoutPatient(proposed(patient, [slot]))));
    const response = await book(proposed(patient, [slot], { id: held.id }));
    const booked = resourceIn('Appointment', response);
    expect([response.status, booked.id, booked.status]).toEqual([201, held.id, 'booked']);
    expect(heldUntil(booked)).toBeUndefined();
    expect(booked.participant).toHaveLength(1);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('is not visible to others, who find the slot taken', async () => {
    const { slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    const refused = await hold(withoutPatient(proposed(patient, [slot])), 'portal-b');
    expect(refusalOf(refused)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect((await request('portal-b', 'GET', `/Appointment/${held.id}`)).status).toBe(404);
    await patch(held.id ?? '', cancellation);
  });

  it('can be extended once', async () => {
    const { slot, patient } = await aClinic();
    const first = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    const again = await hold(proposed(patient, [slot], { id: first.id }));
    const second = resourceIn('Appointment', again);
    expect([again.status, second.id]).toEqual([201, first.id]);
    expect(Date.parse(heldUntil(second) ?? '')).toBeGreaterThan(Date.parse(heldUntil(first) ?? ''));
    const third = await hold(proposed(patient, [slot], { id: first.id }));
    expect(refusalOf(third)).toEqual([422, 'too-many-holds Appointment.id']);
    await patch(first.id ?? '', cancellation);
  });

  it('with a related person names the patient', async () => {
    const { schedule, slot, patient } = await aClinic();
    const person: Partial<RelatedPerson> = { resourceType: 'RelatedPerson', name: [{ family: 'Muster' }] };
    const named = proposed(patient, [slot]);
    const refused = await hold(parameters(withoutPatient(named), ['related-person', person]));
    expect(refusalOf(refused)).toEqual([400, 'patient-missing Parameters.parameter[1].resource']);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    const held = resourceIn('Appointment', await hold(parameters(named, ['related-person', person])));
    expect(held.participant).toHaveLength(2);
    await patch(held.id ?? '', cancellation);
  });

  it('can be extended once, even if it claims to have run out', async () => {
    const { slot, patient } = await aClinic();
    const coding = [{ system: artefactUri(config, 'LocalBookingError'), code: 'hold-expired' }];
    const claim = { cancelationReason: { coding } };
    const first = resourceIn('Appointment', await hold(proposed(patient, [slot], claim)));
    expect(first.cancelationReason).toBeUndefined();
    const again = { ...claim, id: first.id };
    expect((await hold(proposed(patient, [slot], again))).status).toBe(201);
    expect(refusalOf(await hold(proposed(patient, [slot], again)))).toEqual([422, 'too-many-holds Appointment.id']);
    const forged = [
      { op: 'replace', path: '/status', value: 'cancelled' },
      { op: 'add', path: '/cancelationReason', value: { coding } },
    ];
    const cancelled = await patch(first.id ?? '', forged);
    expect(refusalOf(cancelled)).toEqual([400, 'immutable-element Appointment.cancelationReason.coding']);
    await patch(first.id ?? '', cancellation);
  });

  it('sent again with its identifier, after a lost answer, is answered with the hold: 200', async () => {
    const { slot, patient } = await aClinic();
    const identifier = [{ system: 'urn:holds', value: slot.id }];
    const first = resourceIn('Appointment', await hold(proposed(patient, [slot], { identifier })));
    const again = await hold(proposed(patient, [slot], { identifier }));
    expect([again.status, resourceIn('Appointment', again).id]).toEqual([200, first.id]);
    await patch(first.id ?? '', cancellation);
  });

  it('a booked appointment cannot be held', async () => {
    const { slot, patient } = await aClinic();
    const booked = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const refused = await hold(proposed(patient, [slot], { id: booked.id }));
    expect(refusalOf(refused)).toEqual([409, 'appointment-closed Appointment.id']);
  });

  it('staff see it and may end it in Medplum', async () => {
    const { schedule, slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    const body = { ...resourceIn('Appointment', await medplum('front-desk', 'GET', `/Appointment/${held.id}`)) };
    const ended = await medplum('front-desk', 'PUT', `/Appointment/${held.id}`, {
      body: { ...body, status: 'cancelled' },
    });
    expect(ended.status).toBe(200);
    await eventually(() => slotsOf(schedule)).is((slots) => slots.join() === 'free 0-30');
  });

  it('at the limit of its patient is possible in place of an appointment, which stands until the booking', async () => {
    const schedule = await aSchedule(policy(count('maxOpenPerPatient', 1)));
    const [slot, later, patient] = [await aSlot(schedule, 0, 30), await aSlot(schedule, 60, 90), await aPatient()];
    const { id } = succeeded('Appointment', await book(proposed(patient, [slot])));
    const wish = proposed(patient, [later], { from: 60, to: 90 });
    const instead = (appointment: Appointment, replaced = id) => ({
      resourceType: 'Parameters',
      parameter: [
        { name: 'appt-resource', resource: appointment },
        { name: 'cancelled-appt-id', valueUri: `Appointment/${replaced}` },
      ],
    });
    expect(refusalOf(await hold(wish))).toEqual([422, 'patient-limit-reached Appointment.start']);
    expect(refusalOf(await hold(instead(wish, 'unknown')))).toEqual([
      422,
      'replaced-appointment-not-found Parameters.parameter[1].valueUri',
    ]);
    const held = resourceIn('Appointment', await hold(instead(wish)));
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy-tentative 60-90']);
    expect((await book(instead({ ...wish, id: held.id ?? '' }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
  });
});

describe('a hold that is over', () => {
  it('counts as free for everybody, and its holder gets 409 hold-expired', async () => {
    const { schedule, slot, patient } = await aClinic(shortly);
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot], { from: 10, to: 20 })));
    await over(held);
    const others = await aPatient('portal-b');
    const taken = await book(proposed(others, [slot], { from: 0, to: 20 }), 'portal-b');
    expect(taken.status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30']);
    const late = await book(proposed(patient, [slot], { id: held.id, from: 10, to: 20 }));
    expect(refusalOf(late)).toEqual([409, 'hold-expired Appointment.slot[0]']);
    const seen = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${held.id}`));
    expect(seen.status).toBe('cancelled');
    expect(JSON.stringify(seen)).not.toContain(clients[1]?.id);
  });

  it('still books while its time is free', async () => {
    const { schedule, slot, patient } = await aClinic(shortly);
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    await over(held);
    const response = await book(proposed(patient, [slot], { id: held.id }));
    expect([response.status, resourceIn('Appointment', response).id]).toEqual([201, held.id]);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('counts as free where the schedule alone is named', async () => {
    const { schedule, slot, patient } = await aClinic(shortly);
    await over(resourceIn('Appointment', await hold(proposed(patient, [slot]))));
    const body = onSchedule(schedule.id, { ...proposed(patient, []), slot: undefined });
    expect((await book(body)).status).toBe(201);
  });

  it('keeps staff from nothing, before anything has tidied up', async () => {
    const onto = async ({ slot, patient }: Awaited<ReturnType<typeof aClinic>>) =>
      medplum('front-desk', 'POST', '/Appointment', { body: { ...proposed(patient, [slot]), status: 'booked' } });
    // A hold of its own that is not over, however slow the machine is.
    const lasting = await aClinic();
    const kept = resourceIn('Appointment', await hold(proposed(lasting.patient, [lasting.slot])));
    expect(refusalOf(await onto(lasting))).toEqual([400, 'schedule-overbooked Appointment.slot[0]']);
    const short = await aClinic(shortly);
    await over(resourceIn('Appointment', await hold(proposed(short.patient, [short.slot]))));
    expect((await onto(short)).status).toBe(201);
    await patch(kept.id ?? '', cancellation);
  });

  it('on two schedules gives back both when one of them is taken', async () => {
    const [room, surgeon] = [await aClinic(shortly), await aClinic(shortly)];
    const held = await hold(proposed(room.patient, [room.slot, surgeon.slot]));
    await over(resourceIn('Appointment', held));
    expect((await book(proposed(room.patient, [room.slot]))).status).toBe(201);
    expect([await slotsOf(room.schedule), await slotsOf(surgeon.schedule)]).toEqual([['busy 0-30'], ['free 0-30']]);
  });
});

describe('seen elsewhere', () => {
  it('staff see who holds, until when, and find all that are held', async () => {
    const { slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    const [seen, ...more] = await stored('Appointment', `status=proposed&slot=Slot/${slot.id}`);
    expect([seen?.id, more]).toEqual([held.id, []]);
    expect(seen && [heldUntil(seen), ownerOf(seen, config)]).toEqual([heldUntil(held), clients[0]?.id]);
    await patch(held.id ?? '', cancellation);
  });

  const onSlot = (patient: Patient, slot: Slot, serviceType: Slot['serviceType']) => ({
    ...proposed(patient, [slot]),
    start: slot.start,
    end: slot.end,
    serviceType,
  });

  it("Medplum's own calendar sees the time as taken while it is held, and as free again afterwards", async () => {
    const service = await aService();
    const schedule = await aCalendar(service, wholeDay);
    await untilFree(schedule, ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00']);
    const before = (await proposals(schedule, service)).get('09:00');
    expect(before).toBeDefined();
    const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&start=${at('09:00')}`);
    if (!slot) {
      throw new Error('There is no slot at nine.');
    }
    const held = resourceIn('Appointment', await hold(onSlot(await aPatient(), slot, service.type)));
    expect([...(await proposals(schedule, service)).keys()]).not.toContain('09:00');
    expect((await native('book', before)).status).toBe(400);
    expect((await patch(held.id ?? '', cancellation)).status).toBe(200);
    expect([...(await proposals(schedule, service)).keys()]).toContain('09:00');
    expect(await freeTimes(schedule)).toContain('09:00-09:30');
  });

  it('nobody learns who holds: not from the slot, the refusal, a search, or the Tasks', async () => {
    const { slot, patient } = await aClinic();
    const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
    const others = await aPatient('portal-b');
    const refused = await hold(proposed(others, [slot]), 'portal-b');
    expect(issuesOf(refused)).toEqual(['slot-not-free Appointment.slot[0]']);
    const responses = [
      refused,
      await request('portal-b', 'GET', `/Slot/${slot.id}`),
      await request('portal-b', 'GET', `/Appointment?slot=Slot/${slot.id}&_include=Appointment:slot`),
      await request('portal-b', 'GET', `/Appointment/${held.id}`),
      await medplum('portal-b', 'GET', `/Slot/${slot.id}`, { headers: { 'x-medplum': 'extended' } }),
      await medplum('portal-b', 'GET', `/Appointment?slot=Slot/${slot.id}&_total=accurate`),
      await medplum('portal-b', 'GET', '/Task?_total=accurate&_count=100'),
    ];
    const secrets = [held.id, patient.id, clients[0]?.id].map((secret) => secret ?? 'missing');
    for (const { text, status } of responses) {
      const own = status === 404 ? secrets.slice(1) : secrets;
      expect(own.filter((secret) => text.includes(secret))).toEqual([]);
    }
    expect(resourceIn('Bundle', responses[5] ?? refused).total).toBe(0);
    await patch(held.id ?? '', cancellation);
  });
});

// What they leave counts for everything after them.
describe('how many hold', () => {
  it('of 50 callers one', async () => {
    const { schedule, slot, patient } = await aClinic();
    const responses = await simultaneously(50, (index) =>
      hold(withoutPatient(proposed(patient, [slot])), index % 2 ? 'portal-a' : 'portal-b'),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(responses.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(await appointmentsOn(slot)).toHaveLength(1);
    expect(await slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
  });

  it('of more at the same time than it may have, a requestor gets as many as it may', async () => {
    const { maxPerRequestor } = config.holds;
    const wanted = maxPerRequestor + 15;
    const mine = await standIn('portal-a');
    clients.push(mine);
    const { schedule, patient } = await aClinic();
    const slots = await simultaneously(wanted, (index) => aSlot(schedule, 60 + index * 10, 70 + index * 10));
    const responses = await simultaneously(wanted, (index) =>
      hold(
        withoutPatient(
          proposed(patient, slots.slice(index, index + 1), { from: 60 + index * 10, to: 70 + index * 10 }),
        ),
      ),
    );
    const refused = responses.filter(({ status }) => status !== 201);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(maxPerRequestor);
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([422]));
    expect(new Set(refused.flatMap(issuesOf))).toEqual(new Set(['too-many-holds Appointment.start']));
  });
});
