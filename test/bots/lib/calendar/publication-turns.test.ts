import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { workOn } from '../../../../bots/lib/calendar/publication.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { closedOn, DAY, date, day, visit, wholeDay, withCalendars } from '../../calendar/fixtures.ts';
import { publicationsOn, turn, weeks } from './publications.ts';

const medplum = withCalendars();

const outcome = { resourceType: 'OperationOutcome', issue: [{ details: { text: 'Not like this' } }] };
const refused: Answer = { status: 400, body: outcome };

const { work } = publicationsOn(medplum);

describe('a turn after others', () => {
  it('begins again if the opening hours have changed', async () => {
    const { schedule } = await medplum().calendar(visit(), weeks(3));
    await work(schedule, { status: 'accepted', from: day + 7 * DAY, inputs: 'others' });
    expect(await medplum().times(schedule)).toHaveLength(12);
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
  });
});
