import { describe, expect, it } from '@jest/globals';
import type { Appointment, HealthcareService, Patient, Schedule } from '@medplum/fhirtypes';
import { z } from 'zod';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { eventually, until } from '../../lib/until.ts';
import { proposals as alternativesIn } from '../alternatives/fixtures.ts';
import { aPatient, book, stored, succeeded } from '../fixtures.ts';
import { refusalOf, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import {
  aCalendar,
  aService,
  aSlot,
  at,
  change,
  freeTimes,
  idOfBooked,
  native,
  nativeOn,
  open,
  proposals,
  proposedAt,
  untilFree,
  wholeDay,
} from './fixtures.ts';

describe('one calendar', () => {
  /** A calendar from nine to ten that publishes half hours, and a free hour beside them that staff made by hand. */
  async function aDay() {
    const service = await aService(open('09:00', '10:00'));
    const schedule = await aCalendar(service, wholeDay);
    await untilFree(schedule, ['09:00-09:30', '09:30-10:00']);
    const slot = await aSlot(schedule, 'free', '09:00', '10:00');
    return { service, schedule, slot, patient: await aPatient() };
  }

  const all = ['09:00-09:30', '09:00-10:00', '09:30-10:00'];
  const rest = ['09:30-10:00', '09:30-10:00'];

  describe("what staff book by Medplum's own $book", () => {
    it("may have empty lists, as Medplum's Provider app sends them", async () => {
      const { service, schedule, patient } = await aDay();
      const proposal = z
        .looseObject({ participant: z.array(z.unknown()) })
        .parse((await proposals(schedule, service)).get('09:00'));
      const participant = [
        ...proposal.participant,
        { actor: { reference: `Patient/${patient.id}` }, status: 'needs-action' },
      ];
      const id = idOfBooked(await native('book', { ...proposal, identifier: [], participant }));
      expect(await stored('Appointment', `_id=${id}`)).toEqual([expect.objectContaining({ status: 'booked' })]);
    });

    it('is refused to portals at once, although the free slot is still there; the rest stays bookable', async () => {
      const { service, schedule, slot, patient } = await aDay();
      const proposal = (await proposals(schedule, service)).get('09:00');
      idOfBooked(await native('book', proposal));
      const refused = await book(proposedAt(service, patient, '09:00', '09:30', [slot]));
      expect(refusalOf(refused)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
      await untilFree(schedule, rest);
      const booked = await book(proposedAt(service, patient, '09:30', '10:00', [slot]));
      expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    });

    it('is offered again when $cancel has deleted its slots', async () => {
      const { service, schedule, slot, patient } = await aDay();
      const id = idOfBooked(await native('book', (await proposals(schedule, service)).get('09:00')));
      await untilFree(schedule, rest);
      expect((await nativeOn(id, 'cancel')).status).toBe(200);
      await untilFree(schedule, all);
      expect((await book(proposedAt(service, patient, '09:00', '09:30', [slot]))).status).toBe(201);
    });

    it('is refused once a portal has booked the time', async () => {
      const { service, schedule, slot, patient } = await aDay();
      const proposal = (await proposals(schedule, service)).get('09:00');
      expect((await book(proposedAt(service, patient, '09:00', '09:30', [slot]))).status).toBe(201);
      expect((await native('book', proposal)).status).toBe(400);
      expect((await proposals(schedule, service)).has('09:00')).toBe(false);
      expect((await proposals(schedule, service)).has('09:30')).toBe(true);
    });
  });

  it('what staff hold by $hold is refused to portals, and stays so when $confirm has booked it', async () => {
    const { service, schedule, slot, patient } = await aDay();
    const id = idOfBooked(await native('hold', (await proposals(schedule, service)).get('09:00')));
    const asked = () => book(proposedAt(service, patient, '09:00', '09:30', [slot]));
    expect((await asked()).status).toBe(409);
    expect((await nativeOn(id, 'confirm')).status).toBe(200);
    expect((await asked()).status).toBe(409);
    await nativeOn(id, 'cancel');
    await until(asked, ({ status }) => status === 201);
  });
});

describe('moving', () => {
  const all = ['09:00-09:30', '09:15-09:45', '09:30-10:00', '09:45-10:15', '10:00-10:30'];

  /** A day on which an appointment may begin every quarter of an hour, and one of a portal that takes 09:15-09:45. */
  async function aBookedDay() {
    const service = await aService(open('09:00', '10:30'), 15);
    const schedule = await aCalendar(service);
    await untilFree(schedule, all);
    const slots = new Map((await stored('Slot', `schedule=Schedule/${schedule.id}`)).map((slot) => [slot.start, slot]));
    const slotAt = (time: string) => slots.get(at(time)) ?? { resourceType: 'Slot' as const, id: 'none' };
    const patient = await aPatient();
    const request = {
      ...proposedAt(service, patient, '09:15', '09:45', []),
      slot: [{ reference: `Slot/${slotAt('09:15').id}` }],
    };
    const booked = succeeded('Appointment', await book(request));
    expect(await freeTimes(schedule)).toEqual(['09:45-10:15', '10:00-10:30']);
    return { service, schedule, patient, booked, slotAt };
  }

  type Day = Awaited<ReturnType<typeof aBookedDay>>;

  const moveTo = ({ service, patient, booked, slotAt }: Day, from: string, to: string): Appointment => ({
    ...proposedAt(service, patient, from, to, []),
    id: booked.id ?? '',
    slot: [{ reference: `Slot/${slotAt(from).id}` }],
  });

  const inSchedule = (appointment: Appointment, schedule: Schedule) => ({
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: { ...appointment, slot: undefined } },
      { name: 'schedule', valueReference: { reference: `Schedule/${schedule.id}` } },
    ],
  });

  /** What is busy in a calendar as stored, in order. */
  async function busyTimes({ id }: Schedule): Promise<string[]> {
    const slots = await stored(
      'Slot',
      `schedule=Schedule/${id}&status=busy,busy-tentative,busy-unavailable&_sort=start`,
    );
    return slots.map(({ start, end }) => `${start.slice(11, 16)}-${end.slice(11, 16)}`);
  }

  describe('an appointment is moved to published time that it has withdrawn itself', () => {
    it.each<[string, (day: Day) => unknown]>([
      ['by the Slot that was published for it', (day) => moveTo(day, '09:30', '10:00')],
      ['by the Schedule alone', (day) => inSchedule(moveTo(day, '09:30', '10:00'), day.schedule)],
    ])('%s: 201, and nothing is on offer that it excludes', async (_, body) => {
      const day = await aBookedDay();
      const moved = succeeded('Appointment', await book(body(day)));
      expect([moved.id, moved.slot]).toEqual([day.booked.id, [{ reference: `Slot/${day.slotAt('09:30').id}` }]]);
      expect(await busyTimes(day.schedule)).toEqual(['09:30-10:00']);
      // What it has left may be on offer again at once, or a little later.
      expect(['10:00-10:30', '09:00-09:30,10:00-10:30']).toContain((await freeTimes(day.schedule)).join());
      await untilFree(day.schedule, ['09:00-09:30', '10:00-10:30']);
      const old = await stored('Slot', `_id=${day.slotAt('09:15').id}`);
      expect(old.map(({ status }) => status)).toEqual(['entered-in-error']);
    });

    it('also when it is replaced by another one', async () => {
      const day = await aBookedDay();
      const { id: _, ...anew } = moveTo(day, '09:30', '10:00');
      const response = await book({
        resourceType: 'Parameters',
        parameter: [
          { name: 'appt-resource', resource: anew },
          { name: 'cancelled-appt-id', valueUri: day.booked.id },
        ],
      });
      expect([response.status, response.text]).toEqual([201, expect.any(String)]);
      expect(await busyTimes(day.schedule)).toEqual(['09:30-10:00']);
    });

    it('is proposed where the time it asks for is taken, and can be booked', async () => {
      const day = await aBookedDay();
      await aSlot(day.schedule, 'busy', '10:00', '10:30');
      const refused = await book(moveTo(day, '10:00', '10:30'));
      expect(refused.status).toBe(409);
      const offered = alternativesIn(refused);
      expect(offered.map(({ start }) => start.slice(11, 16))).toEqual(['09:30', '09:00']);
      const [first] = offered;
      const wanted = { ...moveTo(day, '09:30', '10:00'), slot: first?.slots.map((reference) => ({ reference })) ?? [] };
      expect((await book(wanted)).status).toBe(201);
    });

    it('but nobody else gets that time, by its Slot or by the Schedule', async () => {
      const day = await aBookedDay();
      const { id: _, ...stranger } = moveTo(day, '09:30', '10:00');
      for (const body of [stranger, inSchedule(stranger, day.schedule)]) {
        expect((await book(body)).status).toBe(409);
      }
      const patient = await aPatient('portal-b');
      const foreign = { ...moveTo({ ...day, patient }, '09:30', '10:00') };
      expect((await book(foreign, 'portal-b')).status).toBe(409);
      expect(await busyTimes(day.schedule)).toEqual(['09:15-09:45']);
    });

    it('nor does it get time that is taken, or that the clinic no longer offers', async () => {
      const day = await aBookedDay();
      await aSlot(day.schedule, 'busy', '09:50', '10:00');
      expect((await book(moveTo(day, '09:30', '10:00'))).status).toBe(409);
      await change('HealthcareService', { ...day.service, availableTime: open('09:15', '10:30') });
      const parameter = [
        { name: 'appt-resource', resource: moveTo(day, '09:00', '09:30') },
        { name: 'dry-run', valueBoolean: true },
      ];
      await eventually(() => book({ resourceType: 'Parameters', parameter })).is(({ status }) => status === 409);
      expect((await book(moveTo(day, '09:00', '09:30'))).status).toBe(409);
      expect(await busyTimes(day.schedule)).toEqual(['09:15-09:45', '09:50-10:00']);
    });

    it('is won by one, when it moves while somebody books time that excludes the new one', async () => {
      const day = await aBookedDay();
      const other = {
        ...proposedAt(day.service, await aPatient(), '09:45', '10:15', []),
        slot: [{ reference: `Slot/${day.slotAt('09:45').id}` }],
      };
      const answers = await Promise.all([book(moveTo(day, '09:30', '10:00')), book(other), book(other)]);
      expect(answers.map(({ status }) => status).filter((status) => status < 300)).toHaveLength(1);
      expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
      const busy = await busyTimes(day.schedule);
      expect([['09:30-10:00'], ['09:15-09:45', '09:45-10:15']]).toContainEqual(busy);
    });
  });

  const day = ['09:00-09:30', '09:15-09:45', '09:30-10:00', '09:45-10:15', '10:00-10:30', '10:15-10:45'];

  /** An appointment that staff have booked by Medplum's own `$book`, at 09:30, with a buffer of ten minutes after it. */
  async function aNativeAppointment() {
    const service: HealthcareService = await aService(open('09:00', '11:00'), 15, { before: 0, after: 10 });
    const schedule = await aCalendar(service, wholeDay);
    await untilFree(schedule, day);
    const proposal = (await proposals(schedule, service)).get('09:30');
    const id = idOfBooked(await native('book', proposal));
    await untilFree(schedule, ['10:15-10:45']);
    const patient: Patient = await aPatient('front-desk');
    return { service, schedule, patient, id };
  }

  describe('an appointment of Medplum is moved by staff', () => {
    it('and its time is offered as the opening hours say, not once more as the Slot of its own', async () => {
      const { service, schedule, patient, id } = await aNativeAppointment();
      const wanted = { ...proposedAt(service, patient, '10:15', '10:45', []), id };
      const moved = resourceIn('Appointment', await book(inSchedule(wanted, schedule), 'front-desk'));
      expect([moved.id, moved.start]).toEqual([id, at('10:15')]);
      // It stays the clinic's own, which writes about it.
      expect(ownerOf(moved, config)).toBeUndefined();
      expect(await busyTimes(schedule)).toEqual(['10:15-10:45', '10:45-10:55']);
      await untilFree(schedule, ['09:00-09:30', '09:15-09:45', '09:30-10:00']);
      expect(await busyTimes(schedule)).toEqual(['10:15-10:45', '10:45-10:55']);
    });

    it('and nothing of it blocks the calendar once staff have cancelled it by hand', async () => {
      const { schedule, id } = await aNativeAppointment();
      const [_booked] = await stored('Appointment', `_id=${id}`);
      const [booked] = await stored('Appointment', `_id=${id}`);
      if (!booked) {
        throw new Error('The appointment is gone.');
      }
      await change('Appointment', { ...booked, status: 'cancelled' });
      await untilFree(schedule, day);
      expect(await busyTimes(schedule)).toEqual([]);
    });
  });
});

it('times that exclude more than fifty others are booked, given back, and blocked', async () => {
  const half = await aService(open('00:00', '22:00'), 10);
  const [parameters] = half.extension ?? [];
  const others = parameters?.extension?.filter(({ url }) => url !== 'duration') ?? [];
  const duration = { url: 'duration', valueDuration: { value: 10, unit: 'h' } };
  const service = await change('HealthcareService', {
    ...half,
    extension: [{ url: parameters?.url ?? '', extension: [...others, duration] }],
  });
  const schedule = await aCalendar(service, wholeDay);
  const untilThere = (count: number) =>
    eventually(() => freeTimes(schedule), 30_000).is((found) => found.length === count);
  const all = (22 - 10) * 6 + 1;
  await untilThere(all);
  const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&start=${at('06:00')}`);
  const slots = slot ? [slot] : [];
  const booked = await book(proposedAt(service, await aPatient(), '06:00', '16:00', slots));
  expect(booked.status).toBe(201);
  await untilThere(0);
  await change('Appointment', { ...resourceIn('Appointment', booked), status: 'cancelled' });
  await untilThere(all);
  await aSlot(schedule, 'busy-unavailable', '00:00', '23:00');
  await untilThere(0);
});
