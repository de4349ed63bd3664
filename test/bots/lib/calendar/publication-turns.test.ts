import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { workOn } from '../../../../bots/lib/calendar/publication.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { closedOn, DAY, date, day, type Stored, visit, wholeDay, withCalendars } from '../../calendar/fixtures.ts';
import { withClock } from '../../clock.ts';
import { publicationsOn, turn, weeks } from './publications.ts';

const medplum = withCalendars();

const outcome = { resourceType: 'OperationOutcome', issue: [{ details: { text: 'Not like this' } }] };
const refused: Answer = { status: 400, body: outcome };
const overtaken: Answer = { status: 412, body: outcome };

const { work, windowsRead } = publicationsOn(medplum);

describe('a turn that has no more time', () => {
  it('begins one window at least, and leaves the rest', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    const { isUnfinished } = await work(schedule, {}, { turn: -1, portion: 100 });
    expect(isUnfinished).toBe(true);
    expect(windowsRead()).toHaveLength(1);
    const publication = await medplum().publicationOf(schedule);
    expect(publication?.status).toBe('accepted');
    expect(publication?.from).toBeGreaterThan(Date.now());
    expect(publication?.from).toBeLessThan(Date.now() + 15 * DAY);
  });

  it('ends within a window, which is begun again', async () => {
    const { schedule } = await medplum().calendar();
    const hours = await readOpeningHours(medplum().medplum, schedule.id);
    const begun = { from: day, inputs: hours?.inputs };
    const { isUnfinished, task } = await work(schedule, begun, { turn: -1, portion: 1 });
    expect(isUnfinished).toBe(true);
    expect(await medplum().times(schedule)).toEqual(wholeDay.slice(0, 1));
    expect(await medplum().publicationOf(schedule)).toMatchObject({ status: 'accepted', from: day });
    const next = await medplum().read<Task>(`Task/${task.id}`);
    expect(next && (await workOn(medplum().medplum, next, turn))).toBe(false);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });
});

describe('a turn whose time is just over', () => {
  it('begins the next window, but writes no further portion', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await withClock(() => work(schedule, {}, { turn: 0, portion: 100 }));
    expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
    const { schedule: other } = await medplum().calendar();
    const { isUnfinished } = await withClock(() => work(other, {}, { turn: 0, portion: 1 }));
    expect(isUnfinished).toBe(true);
    expect(await medplum().times(other)).toEqual(wholeDay.slice(0, 1));
  });
});

describe('a turn after others', () => {
  const inputsOf = async ({ id }: Stored<Schedule>) => (await readOpeningHours(medplum().medplum, id))?.inputs;

  it.each(['requested', 'accepted', 'in-progress'] as const)('goes on where it was, %s', async (status) => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await work(schedule, { status, from: day + 7 * DAY, inputs: await inputsOf(schedule) });
    expect(await medplum().times(schedule)).toHaveLength(8);
  });

  it.each(['completed', 'failed'] as const)('begins again, %s', async (status) => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await work(schedule, { status, from: day + 7 * DAY, inputs: await inputsOf(schedule) });
    expect(await medplum().times(schedule)).toHaveLength(12);
  });

  it('begins again if the opening hours have changed', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await work(schedule, { status: 'accepted', from: day + 7 * DAY, inputs: 'others' });
    expect(await medplum().times(schedule)).toHaveLength(12);
  });

  it('does not begin in the past', async () => {
    const { schedule } = await medplum().calendar();
    await work(schedule, { status: 'accepted', from: day - 400 * DAY, inputs: await inputsOf(schedule) });
    expect(windowsRead()[0]?.[1]).toBe(new Date(Date.now() - 4 * DAY).toISOString().slice(0, 10));
  });
});

describe('opening hours that cannot be published', () => {
  it('say what is wrong with them', async () => {
    const { schedule } = await medplum().calendar(visit(), { actor: [{ reference: 'Practitioner/absent' }] });
    const { isUnfinished } = await work(schedule);
    expect(isUnfinished).toBe(false);
    const publication = await medplum().publicationOf(schedule);
    expect(publication).toMatchObject({ status: 'failed' });
    expect(publication?.task.statusReason?.text).toMatch(
      /^Schedule\.actor: Opening hours need a Schedule with one actor/,
    );
  });

  it('because of its planning horizon say so', async () => {
    const { schedule } = await medplum().calendar(visit(), { planningHorizon: { start: date(2), end: date(1) } });
    await work(schedule);
    const publication = await medplum().publicationOf(schedule);
    expect(publication?.status).toBe('failed');
    expect(publication?.task.statusReason?.text).toMatch(/^Schedule\.planningHorizon/);
  });

  it('because of closed days say so, and stay as they are', async () => {
    const { schedule } = await medplum().calendar();
    const { task } = await work(schedule);
    await medplum().create({ ...closedOn(date()), notAvailable: [{ description: 'Ever', during: { start: date() } }] });
    const current = await medplum().read<Task>(`Task/${task.id}`);
    expect(current && (await workOn(medplum().medplum, current, turn))).toBe(false);
    const publication = await medplum().publicationOf(schedule);
    expect(publication?.status).toBe('failed');
    expect(publication?.task.statusReason?.text).toContain('Closed days must have a start and an end.');
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });

  it('of a Schedule that is closed for now are none', async () => {
    const { schedule } = await medplum().calendar(visit(), { active: false });
    await work(schedule);
    expect((await medplum().publicationOf(schedule))?.status).toBe('completed');
  });

  it('because Medplum does not accept the Slots fail, once', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    medplum().interfere(({ entries }) => (entries.includes('POST Slot') ? refused : undefined));
    const { isUnfinished } = await work(schedule);
    expect(isUnfinished).toBe(false);
    const publication = await medplum().publicationOf(schedule);
    expect(publication?.status).toBe('failed');
    expect(publication?.task).toMatchObject({
      statusReason: { text: 'Schedule: Medplum does not accept the Slots of these opening hours: Not like this' },
      output: [{ type: { text: 'slots-refused' } }],
    });
    expect(medplum().asked.filter(({ entries }) => entries.includes('POST Slot'))).toHaveLength(1);
  });
});

describe('a turn that somebody disturbs', () => {
  const isPortion = ({ entries }: { readonly entries: readonly string[] }) => entries.includes('POST Slot');

  it('is requested again at once', async () => {
    const { schedule } = await medplum().calendar();
    medplum().interfere((asked) => (isPortion(asked) ? overtaken : undefined));
    const { isUnfinished } = await work(schedule);
    expect(isUnfinished).toBe(true);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('writes no Slots once another run has its publication', async () => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(async (asked) => {
      const current = isPortion(asked) ? await medplum().publicationOf(schedule) : undefined;
      await (current && medplum().change<Task>(current.task, { status: 'requested' }));
      return undefined;
    });
    await work(schedule);
    expect(await medplum().times(schedule)).toEqual([]);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('changes its publication with each portion', async () => {
    const { schedule } = await medplum().calendar();
    const seen = new Set<string | undefined>();
    medplum().interfere(async (asked) => {
      if (isPortion(asked)) {
        seen.add((await medplum().publicationOf(schedule))?.task.meta?.versionId);
      }
      return undefined;
    });
    await work(schedule, {}, { turn: 60_000, portion: 1 });
    expect(seen.size).toBe(4);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    const portions = medplum()
      .asked.filter(isPortion)
      .map(({ bundle }) => bundle?.entry?.at(-1)?.resource as Task);
    expect(portions.map(({ status, description }) => [status, description])).toEqual(
      [1, 2, 3, 4].map((count) => ['in-progress', `Portion ${count}`]),
    );
  });

  it.each<[string, Answer | 'no-answer']>([
    ['lost', 'no-answer'],
    ['failed', { status: 403, body: outcome }],
  ])('is an error if what it writes is %s', async (kind, answer) => {
    const { schedule } = await medplum().calendar();
    medplum().interfere((asked) => (isPortion(asked) ? answer : undefined));
    await expect(work(schedule)).rejects.toThrow(
      `The Slots of Schedule/${schedule.id} could not be written (${kind}).`,
    );
    expect((await medplum().publicationOf(schedule))?.status).toBe('in-progress');
  });

  it('is an error if the server cannot be read', async () => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(({ entries: [entry = ''] }) => (entry.includes('_filter') ? 'not-connected' : undefined));
    await expect(work(schedule)).rejects.toThrow(/^The FHIR server could not be read\. /);
  });
});
