/** A date without a time is the whole day in the installation's time zone, for every prefix and every kind of element. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { instantOf } from '../../../core/time/time-zone.ts';
import { aPatient, aSchedule, aSlot, book, proposed, succeeded } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const hour = 3_600_000;

/** What the clocks of the installation show at the time that is written, as an instant. */
const local = (time: string) => new Date(instantOf(config.timeZone, Date.parse(`${time}Z`))).toISOString();

const slotAt = (schedule: Schedule, time: string) =>
  aSlot(schedule, 0, 0, { start: local(time), end: new Date(Date.parse(local(time)) + hour).toISOString() });

async function find(path: string): Promise<string[]> {
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  const bundle = resourceIn('Bundle', answer);
  return (bundle.entry ?? []).map(({ resource }) => resource?.id ?? '');
}

describe('a day in a search for slots', () => {
  /** The last hour of a day, both ends of the next, and the first hour of the one after; then a week later. */
  const times = [
    '2031-12-31T23:00:00',
    '2032-01-01T00:00:00',
    '2032-01-01T23:00:00',
    '2032-01-02T00:00:00',
    '2032-01-07T23:00:00',
    '2032-01-08T00:00:00',
  ];
  let schedule: Schedule;
  let slots: Slot[];

  beforeAll(async () => {
    schedule = await aSchedule();
    slots = await Promise.all(times.map((time) => slotAt(schedule, time)));
  });

  const found = async (query: string) => {
    const ids = await find(`/Slot?schedule=Schedule/${schedule.id}&_sort=start&${query}`);
    return ids.map((id) => slots.findIndex((slot) => slot.id === id));
  };

  it.each<[string, number[]]>([
    ['start=2032-01-01', [1, 2]],
    ['start=eq2032-01-01', [1, 2]],
    ['start=ne2032-01-01', [0, 3, 4, 5]],
    ['start=gt2032-01-01', [3, 4, 5]],
    ['start=sa2032-01-01', [3, 4, 5]],
    ['start=ge2032-01-01', [1, 2, 3, 4, 5]],
    ['start=lt2032-01-01', [0]],
    ['start=eb2032-01-01', [0]],
    ['start=le2032-01-01', [0, 1, 2]],
    ['start=ge2032-01-01&start=le2032-01-07', [1, 2, 3, 4]],
    ['start=2031-12-31,2032-01-07', [0, 4]],
    ['start=2032', [1, 2, 3, 4, 5]],
    ['start=2031-12', [0]],
    ['start=2032-01-01T23:00', [2]],
  ])('%s', async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it('is found page by page, by links that repeat what was asked', async () => {
    const answer = await request(
      'portal-a',
      'GET',
      `/Slot?schedule=Schedule/${schedule.id}&start=ne2032-01-01&_count=3`,
    );
    const next = resourceIn('Bundle', answer).link?.find(({ relation }) => relation === 'next')?.url ?? '';
    expect(next).toContain('start=ne2032-01-01');
    expect(await find(next.slice(config.baseUrl.length))).toHaveLength(1);
  });

  it.each(['tomorrow', '2032-02-30', 'ge2032-01-01T25:00:00Z'])(
    'start=%s is refused, whoever would answer it',
    async (value) => {
      const answer = await request('portal-a', 'GET', `/Slot?start=${value}`);
      expect(answer.status).toBe(400);
      expect(issuesOf(answer)).toEqual(['malformed-request http.start']);
    },
  );
});

it('a day in a search for appointments, also by their slots', async () => {
  const [schedule, patient] = await Promise.all([aSchedule(), aPatient()]);
  const slot = await slotAt(schedule, '2032-02-03T00:00:00');
  const { start, end } = slot;
  const booked = succeeded('Appointment', await book(proposed(patient, [slot], { start, end })));
  const own = `/Appointment?patient=Patient/${patient.id}`;
  for (const condition of [
    'date=2032-02-03',
    'date=2032-02-02,2032-02-03',
    'slot.start=2032-02-03',
    'date=le2032-02-03',
  ]) {
    expect(await find(`${own}&${condition}`)).toEqual([booked.id]);
  }
  for (const condition of ['date=2032-02-02', 'date=ne2032-02-03', 'slot.start=2032-02-02', 'date=gt2032-02-03']) {
    expect(await find(`${own}&${condition}`)).toEqual([]);
  }
});

it('a year of birth, and the day of a change', async () => {
  const patient: Patient = await aPatient('portal-a', { birthDate: '1990-12-31' });
  const found = (condition: string) => find(`/Patient?_id=${patient.id}&${condition}`);
  for (const condition of [
    'birthdate=1990',
    'birthdate=1990-12',
    'birthdate=gt1989',
    'birthdate=le1990',
    'birthdate=ne1991',
  ]) {
    expect(await found(condition)).toEqual([patient.id]);
  }
  for (const condition of ['birthdate=1989', 'birthdate=gt1990', 'birthdate=lt1990', 'birthdate=ne1990']) {
    expect(await found(condition)).toEqual([]);
  }
  const changed = patient.meta?.lastUpdated?.slice(0, 4);
  expect(await found(`_lastUpdated=${changed}`)).toEqual([patient.id]);
  expect(await found(`_lastUpdated=ne${changed}`)).toEqual([]);
});
