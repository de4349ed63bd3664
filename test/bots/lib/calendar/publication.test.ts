import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Slot, Task } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { publishedUntil, workOn, writePublication } from '../../../../bots/lib/calendar/publication.ts';
import {
  askedFor,
  at,
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

const { work, windowsRead } = publicationsOn(medplum);

const timeAt = (time: string, days = 0): number => Date.parse(at(time, days));

const statusesWritten = () =>
  medplum().asked.flatMap(({ bundle, type }) =>
    type === 'transaction'
      ? (bundle?.entry ?? []).flatMap(({ resource }) => (resource?.resourceType === 'Task' ? [resource.status] : []))
      : [],
  );

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

describe('a publication', () => {
  it('is written on condition of its version', async () => {
    const task = await medplum().publication({ schedule: 'one', status: 'requested' });
    const written = await writePublication(medplum().medplum, task, { schedule: 'one', status: 'completed' });
    expect(written).toMatchObject({ task: { id: task.id, status: 'completed' }, publication: { status: 'completed' } });
    expect(written?.task.meta?.versionId).not.toBe(task.meta?.versionId);
    expect(await writePublication(medplum().medplum, task, { schedule: 'one', status: 'failed' })).toBeUndefined();
    expect(await medplum().read<Task>(`Task/${task.id}`)).toMatchObject({ status: 'completed' });
  });

  it('that cannot be written is an error', async () => {
    const task = await medplum().publication({ schedule: 'one', status: 'requested' });
    medplum().interfere(() => 'no-answer');
    await expect(writePublication(medplum().medplum, task, { schedule: 'one', status: 'completed' })).rejects.toThrow(
      `Task/${task.id} could not be written (lost).`,
    );
  });
});

describe('an answer that says nothing', () => {
  it.each([[{}], [{ entry: [] }], [{ entry: [{}] }]])('leaves a publication to others: %j', async (more) => {
    const task = await medplum().publication({ schedule: 'one', status: 'requested' });
    medplum().interfere(() => ({
      status: 200,
      body: { resourceType: 'Bundle', type: 'transaction-response', ...more },
    }));
    expect(await writePublication(medplum().medplum, task, { schedule: 'one', status: 'completed' })).toBeUndefined();
  });

  it.each([[{}], [{ entry: [] }], [{ entry: [{}] }]])('ends a turn that it may have lost: %j', async (more) => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(async ({ entries, bundle }) => {
      if (!entries.includes('POST Slot')) {
        return undefined;
      }
      await medplum().fhir('POST', '', bundle);
      return { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', ...more } };
    });
    await work(schedule);
    expect((await medplum().publicationOf(schedule))?.status).toBe('in-progress');
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

  it('is in progress before anything is read', async () => {
    const { schedule } = await medplum().calendar();
    await work(schedule);
    expect(medplum().asked[0]?.bundle?.entry?.[0]?.resource).toMatchObject({ status: 'in-progress' });
    expect(statusesWritten().at(-1)).toBe('completed');
  });

  it('reads from yesterday on, in windows of two weeks', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await work(schedule);
    const windows = windowsRead();
    const yesterday = new Date(Date.now() - 4 * DAY).toISOString().slice(0, 10);
    expect(windows[0]?.[1]).toBe(yesterday);
    expect(windows.length).toBeGreaterThan(2);
    expect(await medplum().times(schedule)).toHaveLength(12);
  });

  it('is nothing for a Task that is no publication', async () => {
    const task = await medplum().create<Task>({ resourceType: 'Task', status: 'requested', intent: 'order' });
    expect(await workOn(medplum().medplum, task, turn)).toBe(false);
    expect(medplum().asked).toEqual([]);
  });

  it('is nothing for a version that somebody has replaced', async () => {
    const { schedule } = await medplum().calendar();
    const task = await medplum().publication({ schedule: schedule.id, status: 'requested' });
    await medplum().change<Task>(task, { status: 'in-progress' });
    expect(await workOn(medplum().medplum, task, turn)).toBe(false);
    expect(medplum().asked).toHaveLength(1);
    expect(await medplum().times(schedule)).toEqual([]);
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

  it('looks no further than to the last Slot, nor to what was entered in error', async () => {
    const schedule = await medplum().schedule();
    await medplum().slot(schedule, 'free', at('09:00', 100), at('10:00', 100));
    await medplum().slot(schedule, 'entered-in-error', at('09:00', 200), at('10:00', 200));
    await medplum().slot(await medplum().schedule(), 'free', at('09:00', 300), at('10:00', 300));
    await work(schedule);
    expect((await medplum().publicationOf(schedule))?.from).toBe(timeAt('09:00', 101));
    const [last = ''] = askedFor(medplum(), 'GET Slot?').filter((url) => url.includes('_sort=-start'));
    expect(new URLSearchParams(last).get('_count')).toBe('20');
  });

  it('looks two years ahead at most', async () => {
    const schedule = await medplum().schedule();
    await medplum().slot(schedule, 'free', at('09:00', 2_000), at('10:00', 2_000));
    await work(schedule);
    const { from = 0 } = (await medplum().publicationOf(schedule)) ?? {};
    expect(Math.abs(from - (Date.now() + 732 * DAY))).toBeLessThan(DAY);
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
