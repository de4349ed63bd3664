import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Slot, Task } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { publishedUntil, workOn } from '../../../../bots/lib/calendar/publication.ts';
import {
  closedOn,
  DAY,
  date,
  day,
  offering,
  open,
  type Stored,
  visit,
  wholeDay,
  withCalendars,
} from '../../calendar/fixtures.ts';
import { later } from '../../clock.ts';
import { config } from '../../config.ts';
import { publicationsOn, turn, weeks } from './publications.ts';

const medplum = withCalendars();

const { work } = publicationsOn(medplum);

describe('the end of what is published', () => {
  const until = async ({ id }: Stored<Schedule>, now = Date.now()) => {
    const hours = await readOpeningHours(medplum().medplum, id);
    return hours && publishedUntil(hours, now);
  };

  it('is that of the planning horizon', async () => {
    const { schedule } = await medplum().calendar();
    expect(await until(schedule)).toBe(day + DAY);
  });

  it('is so many weeks ahead without one', async () => {
    const { schedule } = await medplum().calendar(visit(), { planningHorizon: undefined });
    expect(await until(schedule, day)).toBe(day + config.calendar.horizonWeeks * 7 * DAY + DAY);
  });

  it('is the latest of several services', async () => {
    const east = visit();
    const [parameters] = east.extension ?? [];
    const inTokyo = (parameters?.extension ?? []).map((one) =>
      one.url === 'timezone' ? { ...one, valueCode: 'Asia/Tokyo' } : one,
    );
    const services = [
      await medplum().create(visit()),
      await medplum().create({ ...east, extension: [{ url: parameters?.url ?? '', extension: inTokyo }] }),
    ];
    const schedule = await medplum().schedule({ serviceType: services.map(offering) });
    expect(await until(schedule)).toBe(day + DAY);
  });

  it('does not exist if the planning horizon is none', async () => {
    const { schedule } = await medplum().calendar(visit(), { planningHorizon: { start: date(2), end: date(1) } });
    expect(await until(schedule)).toBeUndefined();
  });

  it('does not exist where nothing is published', async () => {
    const schedule = await medplum().schedule();
    expect(await until(schedule)).toBeUndefined();
  });
});

describe('a turn', () => {
  it('publishes a calendar and writes down what it was made from', async () => {
    const { schedule } = await medplum().calendar();
    const { isUnfinished } = await work(schedule);
    expect(isUnfinished).toBe(false);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    const hours = await readOpeningHours(medplum().medplum, schedule.id);
    const publication = await medplum().publicationOf(schedule);
    expect(publication).toMatchObject({ status: 'completed', from: day + DAY, inputs: hours?.inputs });
    expect(publication?.task.statusReason).toBeUndefined();
    expect(publication?.task.description).toBeUndefined();
  });

  it('ends the publication of a Schedule that is gone', async () => {
    const schedule = await medplum().schedule();
    await medplum().fhir('DELETE', `Schedule/${schedule.id}`);
    const { isUnfinished } = await work(schedule, { from: day, inputs: 'others' });
    expect(isUnfinished).toBe(false);
    const publication = await medplum().publicationOf(schedule);
    expect(publication).toMatchObject({ status: 'completed' });
    expect(publication?.task.input).toBeUndefined();
  });

  it('withdraws what was published when nothing is any more', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    const { task } = await work(schedule);
    await medplum().change<Schedule>(schedule, { serviceType: [] });
    const current = await medplum().read<Task>(`Task/${task.id}`);
    expect(current && (await workOn(medplum().medplum, current, turn))).toBe(false);
    expect(new Set((await medplum().times(schedule)).map((one) => one.split(' ')[0]))).toEqual(
      new Set(['entered-in-error']),
    );
  });
});

it('closed days are blocks', async () => {
  await medplum().create(closedOn(date()));
  const { schedule } = await medplum().calendar();
  await work(schedule);
  expect(await medplum().times(schedule)).toEqual(['busy-unavailable 00:00-00:00']);
});

it('what has passed is not withdrawn', async () => {
  const { schedule, service } = await medplum().calendar();
  const { task } = await work(schedule);
  await medplum().change(service, { availableTime: open('10:00', '11:00') });
  const current = await medplum().read<Task>(`Task/${task.id}`);
  const past = day + 10 * 3_600_000 - Date.now();
  expect(current && (await later(past, () => workOn(medplum().medplum, current, turn)))).toBe(false);
  expect(await medplum().find<Slot>(`Slot?schedule=Schedule/${schedule.id}&status=free`)).toHaveLength(4);
});
