/** Medplum's own scheduling and this service never sell the same time. */
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { until } from '../../lib/until.ts';
import { aPatient, book, stored } from '../fixtures.ts';
import { issuesOf } from '../http.ts';
import {
  aCalendar,
  aService,
  aSlot,
  idOfBooked,
  native,
  nativeOn,
  open,
  proposals,
  proposedAt,
  untilFree,
  wholeDay,
} from './fixtures.ts';

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
    expect([refused.status, ...issuesOf(refused)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
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
