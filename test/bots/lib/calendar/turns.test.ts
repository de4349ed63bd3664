import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { rollForward } from '../../../../bots/lib/calendar/roll-forward.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { AHEAD } from '../../../../core/calendar/publish/pace.ts';
import type { RollForward } from '../../../../core/calendar/publish/roll-forward.ts';
import { askedFor, DAY, day, type Stored, withCalendars } from '../../calendar/fixtures.ts';
import { later, withClock } from '../../clock.ts';
import { config } from '../../config.ts';
import { passesThrough } from './passes.ts';

const medplum = withCalendars();

const { run, publishedBefore, somebodyBooks, inLine } = passesThrough(medplum);

const { publishingShare: share } = config.calendar;

const overtaken: Answer = { status: 412, body: { resourceType: 'OperationOutcome', issue: [] } };

/** Goes on with a pass without any time. */
const runLate = (pass: Partial<RollForward>) => withClock(() => run(pass, 0));

describe('a run without time', () => {
  it('looks at nothing, and asks for the next one', async () => {
    await medplum().calendar();
    const asked = await runLate({ offset: 3, began: 1_000, lastBegan: 500, madeUpAt: 7_000 });
    expect(asked.map(({ type }) => type)).toEqual(['transaction', 'transaction']);
    expect(await medplum().passThrough()).toMatchObject({
      status: 'requested',
      offset: 3,
      began: 1_000,
      lastBegan: 500,
      madeUpAt: 7_000,
    });
  });

  it('publishes nothing that waits, and asks for the next one', async () => {
    const { schedule } = await publishedBefore({ status: 'accepted', from: undefined });
    await runLate({ offset: undefined, madeUpAt: 7_000 });
    expect((await medplum().publicationOf(schedule))?.status).toBe('accepted');
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: undefined, madeUpAt: 7_000 });
  });

  it.each([
    ['rests after work while somebody books, no longer than it may run', true, 1_000],
    ['does not rest where nobody books', false, 3_600_000],
  ])('%s', async (_, isBooked, left) => {
    await medplum().calendar();
    await (isBooked && somebodyBooks());
    const task = await medplum().pass({ madeUpAt: Date.now() + 10 * DAY });
    const asked: number[] = [];
    await withClock(async (pass) => {
      const deadline = Date.now() + 7_200_000;
      medplum().interfere(({ type, bundle }) => {
        const isPutInLine = type === 'batch' && bundle?.entry?.some(({ resource }) => resource);
        if (isPutInLine || asked.length > 0) {
          asked.push(performance.now());
        }
        pass(isPutInLine ? 7_200_000 - left : 0);
        return undefined;
      });
      await rollForward(medplum().medplum, task, deadline);
    });
    const [began = 0, next = 0] = asked;
    expect(next - began).toBeGreaterThan(isBooked ? left - 10 : 0);
    expect(inLine()).toHaveLength(1);
  });
});

describe('turns', () => {
  /** So many calendars that are in line. */
  async function waiting(count: number): Promise<Stored<Schedule>[]> {
    const calendars: Stored<Schedule>[] = [];
    for (let index = 0; index < count; index++) {
      const { schedule } = await publishedBefore({ status: 'accepted', from: undefined });
      calendars.push(schedule);
    }
    return calendars;
  }

  /** The Schedules whose publications were claimed, in order, in groups that ran at the same time. */
  const claims = () =>
    medplum().asked.flatMap(({ bundle }) =>
      (bundle?.entry ?? []).flatMap(({ resource }) =>
        resource?.resourceType === 'Task' &&
        resource.status === 'in-progress' &&
        resource.focus &&
        !resource.description
          ? (resource.focus.reference ?? [])
          : [],
      ),
    );

  it('are in the order in which they were put in line, those that were begun last', async () => {
    const [first, second] = [
      await publishedBefore({ status: 'accepted', from: day }),
      await publishedBefore({ status: 'accepted', from: undefined }),
    ];
    await run({ offset: undefined });
    expect(claims()).toEqual([second, first].map(({ schedule }) => `Schedule/${schedule.id}`));
    expect(askedFor(medplum(), 'GET Task')).toEqual(
      Array(2).fill(expect.stringMatching(/status=accepted&_sort=_lastUpdated&_count=200$/)),
    );
  });

  it.each([
    ['two at a time where nobody books', false, 2],
    ['one at a time while somebody books', true, 1],
  ])('are %s', async (_, isBooked, expected) => {
    await waiting(3);
    await (isBooked && somebodyBooks());
    let [current, most] = [0, 0];
    medplum().interfere(({ entries: [entry = ''], bundle }) => {
      const [first] = bundle?.entry ?? [];
      const { status, focus, description } =
        first?.resource?.resourceType === 'Task' ? first.resource : ({} as Partial<Task>);
      if (entry.startsWith('PUT Task') && focus && !description) {
        current += status === 'in-progress' ? 1 : -1;
        most = Math.max(most, current);
      }
      return undefined;
    });
    await run({ offset: undefined });
    expect(most).toBe(expected);
    expect((await medplum().passThrough())?.status).toBe('completed');
  });

  it('are counted while somebody books', async () => {
    await waiting(1);
    await somebodyBooks();
    const before = Date.now() + 5_000;
    await run({ offset: undefined, madeUpAt: before });
    const { madeUpAt = 0, status } = (await medplum().passThrough()) ?? {};
    expect(status).toBe('completed');
    expect(madeUpAt).toBeGreaterThan(before);
    expect(madeUpAt).toBeLessThan(before + 60_000 / share);
  });

  it('are not counted where nobody books', async () => {
    await waiting(1);
    await run({ offset: undefined, madeUpAt: 7_000 });
    expect((await medplum().passThrough())?.madeUpAt).toBe(7_000);
  });

  it('do not count appointments that were changed a while ago', async () => {
    await waiting(1);
    await somebodyBooks();
    const task = await medplum().pass({ offset: undefined, madeUpAt: 7_000 });
    await later(3 * 60_000, () => rollForward(medplum().medplum, task, Date.now() + 60_000));
    expect((await medplum().passThrough())?.madeUpAt).toBe(7_000);
  });

  it('wait once publishing has had more than its share', async () => {
    const [schedule] = await waiting(1);
    await somebodyBooks();
    const madeUpAt = Date.now() + (2 * AHEAD) / share + 60_000;
    await run({ offset: undefined, madeUpAt });
    expect(await medplum().passThrough()).toMatchObject({ status: 'in-progress', offset: undefined, madeUpAt });
    expect(schedule && (await medplum().publicationOf(schedule))?.status).toBe('accepted');
  });

  it('go on with the others when one of them fails', async () => {
    const [first, second] = await waiting(2);
    const { error } = console;
    const errors: unknown[] = [];
    console.error = (text) => errors.push(text);
    medplum().interfere(({ type, bundle }) =>
      type === 'transaction' &&
      bundle?.entry?.some(
        ({ resource }) => resource?.resourceType === 'Slot' && resource.schedule.reference === `Schedule/${first?.id}`,
      )
        ? 'no-answer'
        : undefined,
    );
    try {
      await run({ offset: undefined });
    } finally {
      console.error = error;
    }
    expect(errors).toEqual([`Error: The Slots of Schedule/${first?.id} could not be written (lost).`]);
    expect(first && (await medplum().publicationOf(first))?.status).toBe('in-progress');
    expect(second && (await medplum().publicationOf(second))?.status).toBe('completed');
    expect((await medplum().passThrough())?.status).toBe('completed');
  });

  it('are lost to somebody who changes the publication meanwhile', async () => {
    const [schedule] = await waiting(1);
    let reads = 0;
    medplum().interfere(({ entries, bundle }) => {
      const task = bundle?.entry?.[0]?.resource;
      if (task?.resourceType === 'Task' && task.focus) {
        return overtaken;
      }
      reads += entries.some((entry) => entry.includes('status=accepted')) ? 1 : 0;
      return reads > 1 ? 'not-connected' : undefined;
    });
    await expect(run({ offset: undefined })).rejects.toThrow('The FHIR server could not be read.');
    expect(schedule && (await medplum().publicationOf(schedule))?.status).toBe('accepted');
  });
});
