import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { takesPart } from '../../../../bots/lib/calendar/roll-forward.ts';
import type { Publication } from '../../../../core/calendar/publish/publication.ts';
import { allServices, DAY, day, offering, visit, withCalendars } from '../../calendar/fixtures.ts';
import { passesThrough } from './passes.ts';

const medplum = withCalendars();

const { run, publishedBefore } = passesThrough(medplum);

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
    expect(await medplum().times(schedule)).toEqual([]);
    expect(await medplum().publicationOf(without)).toBeUndefined();
    expect((await medplum().passThrough())?.status).toBe('completed');
  });

  it('takes up a publication that somebody has cancelled', async () => {
    const { schedule } = await publishedBefore();
    const { task } = (await medplum().publicationOf(schedule)) ?? {};
    await (task && medplum().change<Task>(task, { status: 'cancelled' }));
    await run();
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'completed', task: { id: task?.id } });
    expect(await medplum().times(schedule)).toHaveLength(4);
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
    expect(await medplum().find('Task?_count=100')).toHaveLength(2);
  });

  it('withdraws what is no longer offered', async () => {
    const { schedule } = await publishedBefore({ inputs: 'others' });
    await medplum().change<Schedule>(schedule, { serviceType: [] });
    await run();
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
      expect(await medplum().times(other)).toEqual(['free 12:00-12:30']);
      expect(await medplum().times(schedule)).not.toHaveLength(1);
    },
  );

  it('does not look where Slots were taken before the last pass', async () => {
    const { schedule } = await publishedBefore();
    await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await run({ lastBegan: Date.now() + 60_000 });
    expect(await medplum().times(schedule)).toEqual(['busy 09:00-09:30']);
  });
});
