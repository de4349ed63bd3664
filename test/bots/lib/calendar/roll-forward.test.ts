import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { publicationsOf, rollForward, takesPart } from '../../../../bots/lib/calendar/roll-forward.ts';
import type { Publication } from '../../../../core/calendar/publish/publication.ts';
import { allServices, askedFor, DAY, date, day, offering, visit, withCalendars } from '../../calendar/fixtures.ts';
import { passesThrough } from './passes.ts';

const medplum = withCalendars();

const { run, publishedBefore, somebodyBooks, inLine } = passesThrough(medplum);

describe('a Schedule', () => {
  it.each<[string, Partial<Schedule>, boolean]>([
    ['that names a service takes part', { serviceType: [offering({ ...visit(), id: 's' })] }, true],
    ['that offers all services takes part', { serviceType: [allServices] }, true],
    ['that names a code only does not', { serviceType: [{ coding: [{ code: 'visit' }] }] }, false],
    ['without services does not', {}, false],
  ])('%s', (_, more, expected) => {
    expect(takesPart({ resourceType: 'Schedule', actor: [], ...more })).toBe(expected);
  });
});

describe('publications', () => {
  it('are found by their Schedules', async () => {
    const { schedule } = await medplum().calendar();
    const { schedule: other } = await medplum().calendar();
    const task = await medplum().publication({ schedule: schedule.id, status: 'completed' });
    await medplum().publication({ schedule: 'third', status: 'completed' });
    const found = await publicationsOf(medplum().medplum, [schedule, other]);
    expect([...found].map(([id, { id: taskId }]) => [id, taskId])).toEqual([[schedule.id, task.id]]);
    expect(askedFor(medplum(), 'GET Task')).toEqual([expect.stringContaining('_count=1000')]);
  });

  it('of nothing are not asked for', async () => {
    expect(await publicationsOf(medplum().medplum, [])).toEqual(new Map());
    expect(medplum().asked).toEqual([]);
  });
});

describe('a pass', () => {
  it('publishes what was never published, and ends', async () => {
    const calendars = [await medplum().calendar(), await medplum().calendar(), await medplum().calendar()];
    await run();
    for (const { schedule } of calendars) {
      expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'completed', from: day + DAY });
      expect(await medplum().times(schedule)).toHaveLength(4);
    }
    expect(await medplum().passThrough()).toMatchObject({
      status: 'completed',
      offset: undefined,
      madeUpAt: undefined,
    });
  });

  it('leaves alone what is up to date, and what has no opening hours', async () => {
    const { schedule } = await publishedBefore();
    const without = await medplum().schedule();
    await run({ lastBegan: Date.now() - 1_000 });
    expect(inLine()).toEqual([]);
    expect(await medplum().times(schedule)).toEqual([]);
    expect(await medplum().publicationOf(without)).toBeUndefined();
    expect((await medplum().passThrough())?.status).toBe('completed');
  });

  it('without any Schedule asks for nothing else', async () => {
    const asked = await run();
    expect(asked.map(({ entries }) => entries.map((entry) => entry.split('?')[0]))).toEqual([
      [expect.stringMatching(/^PUT Task/)],
      ['GET Schedule', 'GET Appointment'],
      ['GET Task', 'GET Appointment'],
      [expect.stringMatching(/^PUT Task/)],
    ]);
  });

  it('asks whether somebody books, and for no more than that', async () => {
    await run();
    expect(askedFor(medplum(), 'GET Appointment')).toEqual(
      Array(2).fill(expect.stringMatching(/^GET Appointment\?_lastUpdated=gt[^&]+&_count=1&_fields=id$/)),
    );
  });

  it('takes up a publication that somebody has cancelled', async () => {
    const { schedule } = await publishedBefore();
    const { task } = (await medplum().publicationOf(schedule)) ?? {};
    await (task && medplum().change<Task>(task, { status: 'cancelled' }));
    await run();
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'completed', task: { id: task?.id } });
    expect(await medplum().times(schedule)).toHaveLength(4);
  });

  it('looks at Schedules of which none is published only once', async () => {
    await medplum().schedule();
    await run({ lastBegan: 1_000 });
    expect(askedFor(medplum(), 'GET Slot')).toEqual([]);
    expect(askedFor(medplum(), 'GET HealthcareService')).toEqual([]);
  });

  it.each<[string, Partial<Publication>]>([
    ['was made from something else', { inputs: 'others' }],
    ['ends too early', { from: day }],
    ['has failed and ends too early', { status: 'failed', from: undefined }],
    ['was changed while a run is about it', { status: 'in-progress', inputs: 'others' }],
  ])('publishes again what %s', async (_, more) => {
    const { schedule } = await publishedBefore(more);
    await run();
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'completed' });
    expect(await medplum().times(schedule)).toHaveLength(4);
    expect(inLine()).toHaveLength(1);
    expect(await medplum().find('Task?_count=100')).toHaveLength(2);
  });

  it('leaves a run alone that publishes the same', async () => {
    const { schedule } = await publishedBefore({ status: 'in-progress' });
    await run();
    expect((await medplum().publicationOf(schedule))?.status).toBe('in-progress');
  });

  it('withdraws what is no longer offered', async () => {
    const { schedule } = await publishedBefore({ inputs: 'others' });
    await medplum().change<Schedule>(schedule, { serviceType: [] });
    await run();
    expect(inLine()).toHaveLength(1);
    expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
  });

  it.each(['busy', 'busy-tentative', 'busy-unavailable'] as const)(
    'looks again where Slots were taken (%s)',
    async (status) => {
      const { schedule } = await publishedBefore();
      const { schedule: other } = await publishedBefore();
      const began = Date.now() - 5_000;
      await medplum().slot(schedule, status, '09:00', '09:30');
      await medplum().slot(other, 'free', '12:00', '12:30');
      await run({ lastBegan: began });
      expect(
        inLine()
          .flat()
          .map(({ resource }) => (resource as Task).focus?.reference),
      ).toEqual([`Schedule/${schedule.id}`]);
      expect(askedFor(medplum(), 'GET Slot').filter((url) => url.includes('_fields=schedule'))).toHaveLength(1);
    },
  );

  it('does not look where Slots were taken before the last pass', async () => {
    const { schedule } = await publishedBefore();
    await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await run({ lastBegan: Date.now() + 60_000 });
    expect(inLine()).toEqual([]);
  });

  it('does not ask what was taken if it is the first', async () => {
    const { schedule } = await publishedBefore();
    await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await run();
    expect(askedFor(medplum(), 'GET Slot')).toEqual([]);
  });

  it('looks at all of them when more was taken than a search gives', async () => {
    await publishedBefore();
    await publishedBefore();
    const slots = Array.from({ length: 1_000 }, () => ({
      resource: { resourceType: 'Slot', schedule: { reference: 'Schedule/x' } },
    }));
    medplum().interfere(({ entries: [entry = ''] }) =>
      entry.includes('_fields=schedule')
        ? {
            status: 200,
            body: {
              resourceType: 'Bundle',
              type: 'batch-response',
              entry: [
                { response: { status: '200' }, resource: { resourceType: 'Bundle', type: 'searchset', entry: slots } },
              ],
            },
          }
        : undefined,
    );
    await run({ lastBegan: 1_000 });
    expect(inLine().flat()).toHaveLength(2);
  });

  it('puts in line what somebody else requests at that moment only once', async () => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(async ({ bundle }) => {
      if (bundle?.entry?.some(({ request }) => request?.url === 'Task')) {
        await medplum().publication({ schedule: schedule.id, status: 'completed' });
      }
      return undefined;
    });
    await run();
    expect(await medplum().find('Task?_count=100')).toHaveLength(2);
  });

  it('leaves to others what they have changed meanwhile', async () => {
    const { schedule } = await publishedBefore({ inputs: 'others' });
    const { schedule: second } = await medplum().calendar();
    medplum().interfere(async ({ type, bundle }) => {
      const found = await medplum().publicationOf(schedule);
      if (type === 'batch' && bundle?.entry?.some(({ resource }) => resource) && found) {
        await medplum().change<Task>(found.task, { status: 'failed' });
      }
      return undefined;
    });
    await run();
    expect((await medplum().publicationOf(schedule))?.status).toBe('failed');
    expect((await medplum().publicationOf(second))?.status).toBe('completed');
  });

  it('is an error if nothing can be put in line', async () => {
    await medplum().calendar();
    medplum().interfere(({ type, bundle }) =>
      type === 'batch' && bundle?.entry?.some(({ resource }) => resource) ? 'no-answer' : undefined,
    );
    await expect(run()).rejects.toThrow('The publications that are due could not be written (lost).');
    expect((await medplum().passThrough())?.status).toBe('in-progress');
  });
});

describe('a pass through many Schedules', () => {
  it('looks at them page by page, and puts them in line ten at a time', async () => {
    const service = await medplum().create(visit());
    const many = Array.from({ length: 51 }, () =>
      medplum().schedule({ serviceType: [offering(service)], planningHorizon: { start: date(), end: date() } }),
    );
    await Promise.all(many);
    await somebodyBooks();
    await run({ madeUpAt: Date.now() + 10 * DAY });
    expect(askedFor(medplum(), 'GET Schedule')).toEqual([
      'GET Schedule?_sort=_id&_count=50&_offset=0',
      'GET Schedule?_sort=_id&_count=50&_offset=50',
    ]);
    expect(inLine().map(({ length }) => length)).toEqual([10, 10, 10, 10, 10, 1]);
    expect(await medplum().find('Task?status=accepted&_count=100')).toHaveLength(51);
  });

  it('begins where it was left', async () => {
    await Promise.all([medplum().calendar(), medplum().calendar(), medplum().calendar()]);
    await run({ offset: 2 });
    expect(askedFor(medplum(), 'GET Schedule?_sort')).toEqual(['GET Schedule?_sort=_id&_count=50&_offset=2']);
    expect(inLine().flat()).toHaveLength(1);
  });

  it('that has seen all of them only publishes', async () => {
    const { schedule } = await medplum().calendar();
    const { schedule: waiting } = await publishedBefore({ status: 'accepted', from: undefined });
    await run({ offset: undefined });
    expect(askedFor(medplum(), 'GET Schedule?_sort')).toEqual([]);
    expect(await medplum().publicationOf(schedule)).toBeUndefined();
    expect((await medplum().publicationOf(waiting))?.status).toBe('completed');
  });
});

describe('a pass that others overtake', () => {
  it('is left to them if its Task has changed', async () => {
    await medplum().calendar();
    const task = await medplum().pass();
    await medplum().change<Task>(task, { status: 'in-progress' });
    await rollForward(medplum().medplum, task, Date.now() + 60_000);
    expect(medplum().asked).toHaveLength(1);
  });

  it('is none if its Task is another one', async () => {
    const task = await medplum().publication({ schedule: 'one', status: 'requested' });
    await rollForward(medplum().medplum, task, Date.now() + 60_000);
    expect(medplum().asked).toEqual([]);
  });

  it('ends as they wish', async () => {
    medplum().interfere(async ({ entries }) => {
      const pass = await medplum().passThrough();
      if (entries.some((entry) => entry.startsWith('GET Schedule')) && pass) {
        await medplum().change<Task>(pass.task, { status: 'requested' });
      }
      return undefined;
    });
    await run();
    expect((await medplum().passThrough())?.status).toBe('requested');
  });

  it('is an error if it cannot be written', async () => {
    medplum().interfere(({ type }) => (type === 'transaction' ? 'not-connected' : undefined));
    const task = await medplum().pass();
    await expect(rollForward(medplum().medplum, task, Date.now() + 60_000)).rejects.toThrow(
      `Task/${task.id} could not be written (failed).`,
    );
  });
});
