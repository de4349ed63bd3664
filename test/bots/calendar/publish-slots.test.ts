import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import { workOn } from '../../../bots/lib/calendar/publication.ts';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { config } from '../config.ts';
import { askedFor, at, type Calendar, DAY, type Stored, visit, withCalendars, withClock } from './fixtures.ts';

const medplum = withCalendars();

const outcome = { resourceType: 'OperationOutcome', issue: [] };
const overtaken: Answer = { status: 412, body: outcome };

/** Tells the Bot what has changed. */
const report = (input: unknown) => handler(medplum().medplum, { input } as Parameters<typeof handler>[1]);

const deleted = (deletedResource: unknown) => report({ deletedResource });

const wholeDay = ['free 09:00-09:30', 'free 09:30-10:00', 'free 10:00-10:30', 'free 10:30-11:00'];

/** A calendar whose Slots are published. */
async function published(...args: Parameters<ReturnType<typeof medplum>['calendar']>): Promise<Calendar> {
  const calendar = await medplum().calendar(...args);
  const task = await medplum().publication({ schedule: calendar.schedule.id, status: 'requested' });
  await workOn(medplum().medplum, task, { turn: 60_000, portion: 100 });
  await medplum().fhir('DELETE', `Task/${task.id}`);
  return calendar;
}

const statusOf = async ({ resourceType, id }: Appointment | Slot) =>
  (await medplum().read<Appointment | Slot>(`${resourceType}/${id}`))?.status;

describe('a change of a Schedule', () => {
  it('that has opening hours requests their publication, without a look at others', async () => {
    const { schedule } = await medplum().calendar();
    await report(schedule);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    expect(medplum().asked).toHaveLength(2);
  });

  it('that had opening hours requests their withdrawal', async () => {
    const schedule = await medplum().schedule();
    await medplum().publication({ schedule: schedule.id, status: 'completed' });
    await report(schedule);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('that has none is nothing', async () => {
    const schedule = await medplum().schedule();
    await medplum().publication({ schedule: 'other', status: 'completed' });
    await report(schedule);
    expect(await medplum().publicationOf(schedule)).toBeUndefined();
    expect(medplum().asked).toHaveLength(1);
  });

  it('that was never stored is nothing', async () => {
    const { id, ...unstored } = (await medplum().calendar()).schedule;
    await report(unstored);
    expect(medplum().asked).toEqual([]);
  });
});

it('a change of a service begins a pass through all Schedules', async () => {
  const { service } = await medplum().calendar();
  const began = Date.now() - 1_000;
  await medplum().pass({ status: 'completed', offset: undefined, began });
  await report(service);
  expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0, lastBegan: began });
});

describe('a request', () => {
  it('to publish a Schedule is carried out', async () => {
    const { schedule } = await medplum().calendar();
    await report(await medplum().publication({ schedule: schedule.id, status: 'requested' }));
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    expect(await medplum().passThrough()).toBeUndefined();
  });

  it('that is left unfinished is taken up by the pass', async () => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(({ entries }) => (entries.includes('POST Slot') ? overtaken : undefined));
    await report(await medplum().publication({ schedule: schedule.id, status: 'requested' }));
    expect((await medplum().passThrough())?.status).toBe('requested');
  });

  it('that is left unfinished leaves a pass alone that goes on anyway', async () => {
    const { schedule } = await medplum().calendar();
    await medplum().pass({ status: 'in-progress', offset: 50 });
    medplum().interfere(({ entries }) => (entries.includes('POST Slot') ? overtaken : undefined));
    await report(await medplum().publication({ schedule: schedule.id, status: 'requested' }));
    expect(await medplum().passThrough()).toMatchObject({ status: 'in-progress', offset: 50 });
  });

  it('is worked on for two seconds, twenty Slots at a time', async () => {
    const { schedule } = await medplum().calendar(visit(undefined, { interval: 5, capacity: 3 }));
    const task = await medplum().publication({ schedule: schedule.id, status: 'requested' });
    await withClock(async (pass) => {
      medplum().interfere(({ entries }) => {
        pass(entries.includes('POST Slot') ? 1_000 : 0);
        return undefined;
      });
      await report(task);
    });
    const portions = medplum().asked.map(({ entries }) => entries.filter((entry) => entry === 'POST Slot').length);
    expect(portions.filter((count) => count > 0)).toEqual([20, 20]);
    expect((await medplum().publicationOf(schedule))?.status).toBe('accepted');
  });

  it('to go on with the pass is carried out', async () => {
    const { schedule } = await medplum().calendar();
    await report(await medplum().pass());
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    expect((await medplum().passThrough())?.status).toBe('completed');
  });

  it('to go on with the pass has some seconds', async () => {
    const { schedule } = await medplum().calendar();
    const task = await medplum().pass();
    await withClock(async (pass) => {
      medplum().interfere(({ entries: [entry = ''] }) => {
        pass(entry.startsWith('GET Schedule?_sort') ? 6_000 : 0);
        return undefined;
      });
      await report(task);
    });
    expect(await medplum().times(schedule)).toEqual([]);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: undefined });
  });
});

describe('a Slot that somebody has taken', () => {
  it('takes the time of published ones', async () => {
    const { schedule } = await published();
    await report(await medplum().slot(schedule, 'busy', '09:15', '09:45'));
    expect(await medplum().times(schedule)).toEqual([
      'entered-in-error 09:00-09:30',
      'busy 09:15-09:45',
      'entered-in-error 09:30-10:00',
      ...wholeDay.slice(2),
    ]);
    expect(await medplum().publicationOf(schedule)).toBeUndefined();
  });

  it('gives back the time that it had before', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await report(slot);
    await report(await medplum().change<Slot>(slot, { start: at('10:00', 3), end: at('10:30', 3) }));
    expect(await medplum().times(schedule)).toEqual([...wholeDay, 'busy 10:00-10:30']);
  });

  it('gives its time back when it is deleted', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await report(slot);
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
    await deleted(slot);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });

  it('is looked at with the day around it, no further', async () => {
    const { schedule } = await published();
    const before = medplum().asked.length;
    await report(await medplum().slot(schedule, 'busy', '09:00', '09:30'));
    const filters = medplum()
      .asked.slice(before)
      .flatMap(({ entries }) => entries)
      .filter((entry) => entry.startsWith('GET Slot?') && entry.includes('_filter'))
      .map((entry) => new URLSearchParams(entry.split('?')[1]).get('_filter') ?? '');
    expect(filters.at(0)).toContain(`end gt "${at('09:00', -4)}"`);
    expect(filters.at(-1)).toContain(`start lt "${at('09:30', 4)}"`);
    expect(askedFor(medplum(), 'GET Slot/').filter((entry) => entry.endsWith('_history?_count=5'))).toHaveLength(1);
  });

  it('whose versions are at the same time is looked at once', async () => {
    const schedule = await medplum().schedule();
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await report(await medplum().change<Slot>(slot, { comment: 'Again' }));
    const windows = askedFor(medplum(), 'GET Slot?').filter((entry) => entry.includes('_filter'));
    expect(new Set(windows).size).toBe(windows.length);
  });

  it('requests the publication of what was never there', async () => {
    const { schedule } = await medplum().calendar();
    await report(await medplum().slot(schedule, 'busy', '09:00', '09:30'));
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    expect(await medplum().times(schedule)).toEqual(['busy 09:00-09:30']);
  });

  it.each([
    [14, false],
    [15, true],
  ])('for %d days publishes the whole calendar: %p', async (days, expected) => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', days - 1));
    const before = medplum().asked.length;
    await report(slot);
    expect((await medplum().publicationOf(schedule))?.status).toBe(expected ? 'requested' : undefined);
    const windows = medplum()
      .asked.slice(before)
      .filter(({ entries }) => entries.some((entry) => entry.includes('_filter')));
    expect(windows.length === 0).toBe(expected);
  });

  it('has published the whole calendar if it had many days before', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', 16));
    await report(await medplum().change<Slot>(slot, { start: at('09:00', 60), end: at('09:30', 60) }));
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('in the past is nothing', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    const windows = () => askedFor(medplum(), 'GET Slot?').filter((entry) => entry.includes('_filter')).length;
    const before = windows();
    const dayAfter = Date.parse(slot.end) + DAY - Date.now();
    await withClock((pass) => {
      pass(dayAfter);
      return report(slot);
    });
    expect(windows()).toBe(before);
    expect(await medplum().times(schedule)).toContain('free 09:00-09:30');
  });

  it.each([
    ['belongs to no Schedule', 'urn:uuid:1'],
    ['belongs to a Schedule that is gone', 'Schedule/absent'],
  ])('but %s is nothing', async (_, reference) => {
    const slot = await medplum().slot(await medplum().schedule(), 'busy', '09:00', '09:30');
    await report({ ...slot, schedule: { reference } });
    expect(medplum().asked.every(({ type }) => type === 'batch')).toBe(true);
    expect(askedFor(medplum(), 'GET Schedule')).toHaveLength(idIn({ reference }, 'Schedule') ? 1 : 0);
    expect(await medplum().find('Task')).toEqual([]);
  });
});

describe('a hold', () => {
  it('gives way to what staff book', async () => {
    const { schedule } = await published();
    const [free] = await medplum().find<Slot>(`Slot?schedule=Schedule/${schedule.id}&start=${at('09:00')}`);
    const held = free && (await medplum().change<Slot>(free, { status: 'busy-tentative' }));
    const hold = await medplum().appointment('proposed', held ? [held] : []);
    await report(await medplum().slot(schedule, 'busy', '09:00', '09:30'));
    expect(await statusOf(hold)).toBe('cancelled');
  });
});

describe('a Slot that an appointment holds', () => {
  /** A Slot with an appointment, as it was stored last. */
  async function held(status: Appointment['status'] = 'booked', more: Partial<Appointment> = {}) {
    const schedule = await medplum().schedule();
    const profile = [artefactUri(config, 'LocalSlot')];
    const tag = [{ system: 'urn:tags', code: 'one' }];
    const free = await medplum().slot(schedule, 'free', '09:00', '09:30', { meta: { profile, tag } });
    const slot = await medplum().change<Slot>(free, { status: 'busy' });
    const appointment = await medplum().appointment(status, [slot], more);
    return { schedule, slot, appointment };
  }

  const remove = ({ id }: Slot) => medplum().fhir('DELETE', `Slot/${id}`);

  const over = { extension: [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: '2020-01-01T00:00:00Z' }] };

  const restores = () => askedFor(medplum(), 'PUT Slot');

  it('returns as it was when somebody deletes it', async () => {
    const { slot } = await held();
    await remove(slot);
    await deleted(slot);
    const { meta, ...stored } = (await medplum().read<Slot>(`Slot/${slot.id}`)) ?? {};
    const { meta: before, ...rest } = slot;
    expect(stored).toEqual(rest);
    expect(meta).toMatchObject({ tag: before?.tag, profile: before?.profile });
    const sent = medplum().asked.find(({ entries }) => entries.includes(`PUT Slot/${slot.id}`));
    expect(Object.keys(sent?.bundle?.entry?.[0]?.resource?.meta ?? {}).sort()).toEqual(['profile', 'tag']);
  });

  it('returns although the appointment still has another one', async () => {
    const { schedule, slot, appointment } = await held();
    const other = await medplum().slot(schedule, 'busy', '09:30', '10:00');
    const references = [slot, other].map(({ id }) => ({ reference: `Slot/${id}` }));
    await medplum().change<Appointment>(appointment, { slot: references, end: at('10:00') });
    await remove(slot);
    await deleted(slot);
    expect(await statusOf(slot)).toBe('busy');
  });

  it('returns without the marks that it did not have', async () => {
    const { slot } = await held();
    await remove(slot);
    const { meta: _, ...bare } = slot;
    await deleted(bare);
    const stored = await medplum().read<Slot>(`Slot/${slot.id}`);
    expect(stored?.status).toBe('busy');
    expect(stored?.meta?.tag).toBeUndefined();
  });

  it('is taken again when somebody sets it free', async () => {
    const { slot } = await held();
    await report(await medplum().change<Slot>(slot, { status: 'free' }));
    expect(await statusOf(slot)).toBe('busy');
  });

  it('is not looked up when it is changed otherwise', async () => {
    const { slot } = await held();
    await report(await medplum().change<Slot>(slot, { comment: 'Again' }));
    expect(askedFor(medplum(), 'GET Appointment?slot=')).toEqual([]);
    expect(restores()).toEqual([]);
  });

  it.each<[string, Parameters<typeof held>]>([
    ['was cancelled', ['cancelled']],
    ['is over', ['proposed', over]],
  ])('does not return if the appointment %s', async (_, given) => {
    const { slot, appointment } = await held(...given);
    await remove(slot);
    await deleted(slot);
    expect(restores()).toEqual([]);
    expect(await statusOf(slot)).toBeUndefined();
    expect(await statusOf(appointment)).toBe('cancelled');
  });

  it('does not return if it is there', async () => {
    const { slot } = await held();
    const current = await medplum().change<Slot>(slot, { status: 'busy-unavailable' });
    await deleted(slot);
    expect((await medplum().read<Slot>(`Slot/${slot.id}`))?.meta?.versionId).toBe(current.meta?.versionId);
  });

  it('is left to others who write it at that moment', async () => {
    const { slot } = await held();
    await remove(slot);
    medplum().interfere(({ entries }) => (entries.includes(`PUT Slot/${slot.id}`) ? overtaken : undefined));
    await deleted(slot);
    expect(restores()).toHaveLength(1);
  });

  it('that cannot be written again is an error, after everything else', async () => {
    const { slot, schedule } = await held();
    const serviced = await medplum().change<Schedule>(schedule, {
      serviceType: (await medplum().calendar()).schedule.serviceType,
    });
    await remove(slot);
    medplum().interfere(({ entries }) => (entries.includes(`PUT Slot/${slot.id}`) ? 'no-answer' : undefined));
    await expect(deleted(slot)).rejects.toThrow(`Error: Slot/${slot.id} could not be written again (lost).`);
    expect(serviced.id && (await medplum().publicationOf({ ...serviced, id: serviced.id }))?.status).toBe('requested');
  });
});

describe('what cannot be published around a Slot', () => {
  const failing = async (answer: Answer | 'no-answer', schedule: Stored<Schedule>) => {
    medplum().interfere(({ entries }) => (entries.some((entry) => entry.startsWith('PUT Slot')) ? answer : undefined));
    return report(await medplum().slot(schedule, 'busy', '09:00', '09:30'));
  };

  it.each<[string, Answer | 'no-answer', number]>([
    ['overtaken', overtaken, config.maxAttempts],
    ['lost', 'no-answer', 1],
    ['failed', { status: 403, body: outcome }, 1],
  ])('is an error, and left to a publication (%s)', async (kind, answer, attempts) => {
    const { schedule } = await published();
    const before = askedFor(medplum(), 'PUT Slot').length;
    await expect(failing(answer, schedule)).rejects.toThrow(
      `Error: The Slots of Schedule/${schedule.id} could not be written (${kind}).`,
    );
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    expect(askedFor(medplum(), 'PUT Slot').length - before).toBe(attempts);
  });

  it('is tried for some seconds', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    const before = askedFor(medplum(), 'PUT Slot').length;
    await withClock(async (pass) => {
      medplum().interfere(({ entries }) => {
        if (!entries.some((entry) => entry.startsWith('PUT Slot'))) {
          return undefined;
        }
        pass(3_001);
        return overtaken;
      });
      await expect(report(slot)).rejects.toThrow('could not be written (overtaken)');
    });
    expect(askedFor(medplum(), 'PUT Slot').length - before).toBe(2);
  });

  it('is all said at once', async () => {
    const { schedule } = await published();
    const slot = await medplum().slot(schedule, 'free', '09:00', '09:30');
    medplum().interfere(({ entries: [entry = ''] }) => (entry.includes('Slot') ? 'not-connected' : undefined));
    const failure = await report({ ...slot, status: 'busy' }).catch(String);
    expect(String(failure).split('\n')).toHaveLength(2);
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });
});
