import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { aPatient, book, proposed, stored, succeeded } from '../fixtures.ts';
import { request } from '../http.ts';
import { aCalendar, aService, at, freeTimes, open, untilFree } from './fixtures.ts';

const free = async ({ id }: Schedule, start: string) =>
  (await stored('Slot', `schedule=Schedule/${id}&status=free&start=${at(start)}`))[0]?.id ?? '';

/** A portal books the time of a Slot. */
async function bookAt(slot: string, from: string, to: string, { type }: HealthcareService) {
  const patient = await aPatient();
  return book({
    ...proposed(patient, []),
    serviceType: type,
    start: at(from),
    end: at(to),
    slot: [{ reference: `Slot/${slot}` }],
  });
}

describe('Slots that share a place', () => {
  it('exclude each other: the one that is booked takes the others off the market, until it is cancelled', async () => {
    const service = await aService(open('09:00', '10:00'), 15);
    const schedule = await aCalendar(service);
    const all = ['09:00-09:30', '09:15-09:45', '09:30-10:00'];
    await untilFree(schedule, all);
    const [first, second] = [await free(schedule, '09:00'), await free(schedule, '09:15')];
    const booked = succeeded('Appointment', await bookAt(first, '09:00', '09:30', service));
    expect(await freeTimes(schedule)).toEqual(['09:30-10:00']);
    const refused = await bookAt(second, '09:15', '09:45', service);
    expect(refused.status).toBe(409);
    const cancelled = await request('portal-a', 'PATCH', `/Appointment/${booked.id}`, {
      body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect([cancelled.status, cancelled.text]).toEqual([200, expect.any(String)]);
    await untilFree(schedule, all);
  });

  it('are booked once, however many requests arrive at the same moment', async () => {
    const service = await aService(open('09:00', '10:00'), 15);
    const schedule = await aCalendar(service);
    await untilFree(schedule, ['09:00-09:30', '09:15-09:45', '09:30-10:00']);
    const [first, second] = [await free(schedule, '09:00'), await free(schedule, '09:15')];
    const answers = await Promise.all([
      bookAt(first, '09:00', '09:30', service),
      bookAt(second, '09:15', '09:45', service),
      bookAt(first, '09:00', '09:30', service),
      bookAt(second, '09:15', '09:45', service),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const busy = await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy`);
    expect(busy).toHaveLength(1);
  });
});
