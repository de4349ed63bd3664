import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import { later, withClock } from '../clock.ts';
import { DAY, visit, withCalendars } from './fixtures.ts';

const medplum = withCalendars();

const MINUTE = 60_000;

/** Runs the Bot as its clock does, so many milliseconds from now. */
const tick = (fromNow = 0, input: unknown = {}) =>
  later(fromNow, () => handler(medplum().medplum, { input } as Parameters<typeof handler>[1]));

/** A pass that began so many milliseconds ago and ended. */
const passedBefore = (age: number) =>
  medplum().pass({ status: 'completed', offset: undefined, began: Date.now() - age });

describe('the clock', () => {
  it.each([
    ['nothing'],
    [undefined],
    [{ resourceType: 'Parameters' }],
    [{ deletedResource: { resourceType: 'Patient' } }],
  ])('runs without a known change (%p)', async (input) => {
    await tick(0, input);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0 });
  });

  it('begins a pass once a day', async () => {
    await passedBefore(DAY - MINUTE);
    await tick();
    await tick(2 * MINUTE);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0 });
  });

  it('begins a pass that is still about the one of yesterday', async () => {
    await medplum().pass({ status: 'in-progress', offset: 50, began: Date.now() - 2 * DAY });
    await tick();
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0 });
  });

  it('is an error when the server cannot be read', async () => {
    medplum().interfere(() => 'not-connected');
    await expect(tick()).rejects.toThrow(/^The FHIR server could not be read\. /);
  });
});

describe('a change of a service that was missed', () => {
  it.each([
    ['two minutes ago, after the pass', 2 * MINUTE, MINUTE, true],
    ['two minutes ago, before the pass', 2 * MINUTE, -MINUTE, false],
    ['half a minute ago', MINUTE / 2, MINUTE, false],
    ['long ago', 16 * MINUTE, MINUTE, false],
  ])('begins a pass: %s', async (_, age, later_, expected) => {
    await medplum().create(visit());
    await passedBefore(later_);
    await tick(age);
    expect((await medplum().passThrough())?.status).toBe(expected ? 'requested' : 'completed');
  });
});

describe('a change of a service at another moment', () => {
  it('begins the first one', async () => {
    await medplum().create(visit());
    await tick(2 * MINUTE);
    expect((await medplum().passThrough())?.status).toBe('requested');
  });
});

describe('a change of a Schedule that was missed', () => {
  it.each([
    ['two minutes ago', 2 * MINUTE, true],
    ['half a minute ago', MINUTE / 2, false],
    ['long ago', 16 * MINUTE, false],
  ])('requests its publication: %s', async (_, age, expected) => {
    const { schedule } = await medplum().calendar();
    await passedBefore(-MINUTE);
    await tick(age);
    expect((await medplum().publicationOf(schedule))?.status).toBe(expected ? 'requested' : undefined);
  });

  it('requests it if its publication is older', async () => {
    const { schedule } = await medplum().calendar();
    await passedBefore(-MINUTE);
    await medplum().publication({ schedule: schedule.id, status: 'completed' });
    await tick(2 * MINUTE);
    expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
    await medplum().change(schedule, { comment: 'New' });
    await tick(2 * MINUTE);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('is nothing if it has no opening hours', async () => {
    const schedule = await medplum().schedule();
    await passedBefore(-MINUTE);
    await tick(2 * MINUTE);
    expect(await medplum().publicationOf(schedule)).toBeUndefined();
  });
});

describe('a publication that was interrupted', () => {
  const publicationOf = (id: string) => medplum().publicationOf({ resourceType: 'Schedule', id, actor: [] });

  it.each(['requested', 'in-progress'] as const)(
    'waits for its turn, and goes on where it was (%s)',
    async (status) => {
      await passedBefore(MINUTE);
      await medplum().publication({ schedule: 'one', status, from: 1_000, inputs: 'some' });
      await tick(MINUTE / 2 - 2_000);
      expect((await publicationOf('one'))?.status).toBe(status);
      await tick(MINUTE / 2 + 1_000);
      expect(await publicationOf('one')).toMatchObject({ status: 'accepted', from: 1_000, inputs: 'some' });
      expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: undefined });
    },
  );

  it('is taken up as far as it is one', async () => {
    await passedBefore(MINUTE);
    const task = await medplum().publication({ schedule: 'one', status: 'in-progress' });
    await medplum().change<Task>(task, { focus: { reference: 'Patient/one' } });
    await tick(MINUTE);
    expect((await medplum().read<Task>(`Task/${task.id}`))?.status).toBe('in-progress');
  });
});

describe('publications that wait for their turn', () => {
  it('have a pass that ended go on', async () => {
    await passedBefore(MINUTE);
    await medplum().publication({ schedule: 'one', status: 'accepted' });
    await tick();
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: undefined });
  });
});

describe('a pass that was interrupted', () => {
  it.each(['requested', 'in-progress'] as const)('is gone on with after half a minute (%s)', async (status) => {
    const { schedule } = await medplum().calendar();
    await medplum().pass({ status, began: Date.now() + MINUTE });
    await tick(MINUTE / 2 - 2_000);
    expect((await medplum().passThrough())?.status).toBe(status);
    await tick(MINUTE / 2 + 1_000);
    expect((await medplum().passThrough())?.status).toBe('completed');
    expect(await medplum().times(schedule)).toHaveLength(4);
  });

  it('has some seconds', async () => {
    const { schedule } = await medplum().calendar();
    await medplum().pass({ status: 'in-progress', began: Date.now() + MINUTE });
    await withClock(async (pass) => {
      pass(MINUTE / 2 + 1_000);
      medplum().interfere(({ entries: [entry = ''] }) => {
        pass(entry.startsWith('GET Schedule?_sort') ? 6_000 : 0);
        return undefined;
      });
      await handler(medplum().medplum, { input: {} } as Parameters<typeof handler>[1]);
    });
    expect(await medplum().times(schedule)).toEqual([]);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: undefined });
  });

  it('because somebody has cancelled it begins again', async () => {
    const { id } = await medplum().change<Task>(await medplum().pass(), { status: 'cancelled' });
    await tick();
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0, task: { id } });
  });
});
