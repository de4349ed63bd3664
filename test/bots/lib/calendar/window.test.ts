import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Bundle, Schedule, Slot } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { type Guard, publishWindow, readReturning } from '../../../../bots/lib/calendar/window.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import {
  askedFor,
  at,
  type Calendar,
  DAY,
  day,
  open,
  type Stored,
  timeOf,
  visit,
  wholeDay,
  withCalendars,
} from '../../calendar/fixtures.ts';

const medplum = withCalendars();

const theDay = { start: day, end: day + DAY };

/** A guard that allows so many portions of so many Slots; by default everything at once. */
function guard({
  portion = 100,
  times = Number.POSITIVE_INFINITY,
  entry = [],
}: {
  portion?: number;
  times?: number;
  entry?: ReturnType<Guard['entry']>;
} = {}) {
  const answers: Bundle[] = [];
  const made: Guard = {
    portion,
    entry: () => entry,
    written: (answer) => answers.push(answer) < times,
  };
  return { answers, ...made };
}

/** Publishes the day of a calendar. */
async function publish({ id }: Stored<Schedule>, by?: Guard) {
  const hours = await readOpeningHours(medplum().medplum, id);
  if (!hours) {
    throw new Error('There is no such Schedule.');
  }
  return publishWindow(medplum().medplum, hours, theDay, by);
}

/** A calendar whose day is published. */
async function published(...args: Parameters<ReturnType<typeof medplum>['calendar']>): Promise<Calendar> {
  const calendar = await medplum().calendar(...args);
  await publish(calendar.schedule, guard());
  return calendar;
}

/** The Slot of a calendar that begins at a time of the day. */
async function slotAt({ id }: Stored<Schedule>, time: string): Promise<Slot> {
  const found = await medplum().find<Slot>(`Slot?schedule=Schedule/${id}&_count=1000`);
  const slot = found.find(({ start }) => start === at(time));
  if (!slot) {
    throw new Error(`No Slot begins at ${time}.`);
  }
  return slot;
}

const written = () => medplum().asked.filter(({ entries }) => entries.some((entry) => !entry.startsWith('GET')));

describe('a window', () => {
  it('has the Slots that the opening hours ask for, once', async () => {
    const { schedule } = await medplum().calendar();
    expect((await publish(schedule, guard())).kind).toBe('published');
    expect(await medplum().times(schedule)).toEqual(wholeDay);
    expect(written()).toHaveLength(1);
    expect((await publish(schedule, guard())).kind).toBe('published');
    expect(written()).toHaveLength(1);
  });

  it('whose Slots match is two reads', async () => {
    const { schedule } = await published();
    const before = medplum().asked.length;
    await publish(schedule, guard());
    const [, , slots, ...others] = medplum().asked.slice(before);
    expect(slots?.entries).toEqual([expect.stringMatching(/^GET Slot\?schedule=/)]);
    expect(others).toEqual([]);
  });

  it('withdraws what something else takes, whose history says that it was never offered', async () => {
    const { schedule } = await published();
    const taking = await medplum().slot(schedule, 'busy', '09:15', '09:45');
    expect((await publish(schedule, guard())).kind).toBe('published');
    expect(await medplum().times(schedule)).toEqual([
      'entered-in-error 09:00-09:30',
      'busy 09:15-09:45',
      'entered-in-error 09:30-10:00',
      ...wholeDay.slice(2),
    ]);
    expect(askedFor(medplum(), 'GET Slot/')).toEqual([`GET Slot/${taking.id}/_history`]);
  });

  it('withdraws nothing because of what was once offered', async () => {
    const { schedule } = await published();
    const offered = await medplum().slot(schedule, 'free', '09:15', '09:45');
    await medplum().change(offered, { status: 'busy' });
    await publish(schedule, guard());
    expect(await medplum().times(schedule)).toEqual(['free 09:00-09:30', 'busy 09:15-09:45', ...wholeDay.slice(1)]);
  });

  it('leaves a Slot alone that looks free, although an appointment holds it', async () => {
    const { schedule, service } = await published();
    const held = await slotAt(schedule, '09:00');
    await medplum().appointment('booked', [held]);
    await medplum().appointment('cancelled', [await slotAt(schedule, '09:30')]);
    await medplum().change(service, { availableTime: open('10:00', '11:00') });
    expect((await publish(schedule, guard())).kind).toBe('published');
    expect(await medplum().times(schedule)).toEqual([
      'free 09:00-09:30',
      'entered-in-error 09:30-10:00',
      ...wholeDay.slice(2),
    ]);
    const [query = ''] = askedFor(medplum(), 'GET Slot?_id=');
    const asked = new URLSearchParams(query.split('?')[1]);
    expect(asked.get('_id')?.split(',')).toHaveLength(2);
    expect(asked.get('_fields')).toBe('id');
    expect(askedFor(medplum(), 'GET Appointment')).toEqual([]);
  });

  it('asks for no appointments when no free Slot changes', async () => {
    const { schedule } = await medplum().calendar();
    await publish(schedule, guard());
    expect(askedFor(medplum(), 'GET Slot?_id=')).toEqual([]);
    const slot = await slotAt(schedule, '09:00');
    await medplum().change(slot, { status: 'entered-in-error' });
    await publish(schedule, guard());
    expect(askedFor(medplum(), 'GET Slot?_id=')).toEqual([]);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });

  it('reads all Slots, however many there are', async () => {
    const { schedule } = await published();
    const { identifier: _, ...first } = await slotAt(schedule, '09:00');
    const full = Array.from({ length: 1000 }, (_, index) => ({
      resource: { ...first, id: `other-${index}`, status: 'entered-in-error' },
    }));
    medplum().interfere(({ entries: [entry = ''] }) =>
      entry.includes('_offset=0')
        ? {
            status: 200,
            body: {
              resourceType: 'Bundle',
              type: 'batch-response',
              entry: [
                { response: { status: '200' }, resource: { resourceType: 'Bundle', type: 'searchset', entry: full } },
              ],
            },
          }
        : undefined,
    );
    await publish(schedule, guard());
    const offsets = askedFor(medplum(), 'GET Slot?schedule').map((url) => new URLSearchParams(url).get('_offset'));
    expect(offsets.slice(-2)).toEqual(['0', '1000']);
    expect(
      new Set(askedFor(medplum(), 'GET Slot?schedule').map((url) => new URLSearchParams(url).get('_sort'))),
    ).toEqual(new Set(['start,_id']));
  });

  it('does not read what lies far from it, or belongs to others', async () => {
    const { schedule } = await published();
    const other = await medplum().schedule();
    await medplum().slot(other, 'busy', '09:00', '11:00');
    await medplum().slot(schedule, 'busy', at('09:00', 5), at('10:00', 5));
    await medplum().slot(schedule, 'busy', at('09:00', -5), at('10:00', -5));
    await publish(schedule, guard());
    expect(askedFor(medplum(), 'GET Slot/')).toEqual([]);
  });
});

describe('without a guard', () => {
  it('nothing is created', async () => {
    const { schedule } = await medplum().calendar();
    expect((await publish(schedule)).kind).toBe('missing');
    expect(await medplum().times(schedule)).toEqual([]);
    expect(written()).toEqual([]);
  });

  it('what is there is changed', async () => {
    const { schedule } = await published();
    await medplum().slot(schedule, 'busy', '09:00', '09:30');
    expect((await publish(schedule)).kind).toBe('published');
    expect(await medplum().times(schedule)).toContain('entered-in-error 09:00-09:30');
  });

  it('twenty Slots are written together', async () => {
    const { schedule } = await published(visit(open('00:00', '12:00')));
    const slots = await medplum().find<Slot>(`Slot?schedule=Schedule/${schedule.id}&_count=100`);
    expect(slots).toHaveLength(24);
    await medplum().slot(schedule, 'busy', '00:00', '12:00');
    const before = written().length;
    expect((await publish(schedule)).kind).toBe('published');
    expect(
      written()
        .slice(before)
        .map(({ entries }) => entries.length),
    ).toEqual([20, 4]);
    expect((await publish(schedule)).kind).toBe('published');
  });
});

describe('with a guard', () => {
  it('each portion is written with its entries, and it sees the answers', async () => {
    const { schedule } = await medplum().calendar();
    const entry = [{ request: { method: 'PUT' as const, url: `Schedule/${schedule.id}` }, resource: schedule }];
    const by = guard({ portion: 3, entry });
    expect((await publish(schedule, by)).kind).toBe('published');
    expect(written().map(({ type, entries }) => [type, entries])).toEqual([
      ['transaction', ['POST Slot', 'POST Slot', 'POST Slot', `PUT Schedule/${schedule.id}`]],
      ['transaction', ['POST Slot', `PUT Schedule/${schedule.id}`]],
    ]);
    expect(by.answers.map((answer) => answer.entry?.length)).toEqual([4, 2]);
  });

  it('it ends when the guard says so', async () => {
    const { schedule } = await medplum().calendar();
    expect((await publish(schedule, guard({ portion: 1, times: 2 }))).kind).toBe('unfinished');
    expect(await medplum().times(schedule)).toEqual(wholeDay.slice(0, 2));
  });

  it('it is finished although there was no time left at its end', async () => {
    const { schedule } = await medplum().calendar();
    expect((await publish(schedule, guard({ portion: 2, times: 2 }))).kind).toBe('published');
    expect(await medplum().times(schedule)).toEqual(wholeDay);
  });
});

describe('a write that fails', () => {
  const outcome = { resourceType: 'OperationOutcome', issue: [] };

  it.each<[string, Answer | 'no-answer' | 'not-connected']>([
    ['overtaken', { status: 412, body: outcome }],
    ['failed', { status: 403, body: outcome }],
    ['failed', 'not-connected'],
    ['lost', { status: 500, body: outcome }],
    ['lost', 'no-answer'],
  ])('is %s', async (kind, answer) => {
    const { schedule } = await medplum().calendar();
    medplum().interfere(({ type }) => (type === 'transaction' ? answer : undefined));
    const by = guard({ portion: 1 });
    expect((await publish(schedule, by)).kind).toBe(kind);
    expect(written()).toHaveLength(1);
    expect(by.answers).toEqual([]);
  });

  it('because Medplum refuses a Slot says why', async () => {
    const { schedule } = await medplum().calendar();
    const issue = [{ details: { text: 'Bad start' } }, { diagnostics: 'Bad end' }];
    medplum().interfere(({ type }) =>
      type === 'transaction' ? { status: 400, body: { ...outcome, issue } } : undefined,
    );
    const diagnostics = 'Medplum does not accept the Slots of these opening hours: Bad start Bad end';
    expect(await publish(schedule, guard())).toEqual({
      kind: 'refused',
      problems: [{ code: 'slots-refused', diagnostics, expression: 'Schedule' }],
    });
  });
});

describe('what returns when an appointment gives its time back', () => {
  /** A calendar in which an appointment from 9:30 to 10:00 takes the time around it, too. */
  async function booked() {
    const calendar = await published(visit(open('09:00', '11:00'), { interval: 15 }));
    const { schedule } = calendar;
    const slot = await slotAt(schedule, '09:30');
    const taken = await medplum().change(slot, { status: 'busy' });
    await publish(schedule, guard());
    const appointment = await medplum().appointment('booked', [taken]);
    return { ...calendar, taken, appointment };
  }

  const returning = (schedules: readonly string[], givenBack: readonly string[], appointments: readonly string[]) =>
    readReturning(medplum().medplum, {
      schedules,
      givenBack,
      appointments,
      time: { start: timeOf(at('09:30')), end: timeOf(at('10:00')) },
    });

  const startsOf = (changes: Awaited<ReturnType<typeof returning>>) =>
    changes
      .filter(({ resource }) => resource.status === 'free')
      .map(({ resource }) => resource.start.slice(11, 16))
      .sort();

  it('are the published Slots that it has withdrawn', async () => {
    const { schedule, taken, appointment } = await booked();
    expect(await medplum().times(schedule)).toContain('entered-in-error 09:15-09:45');
    const found = await returning([schedule.id], [taken.id ?? ''], [appointment.id]);
    expect(startsOf(found)).toEqual(['09:15', '09:45']);
    expect(written().at(-1)?.entries).not.toContain('GET');
  });

  it('is nothing in a Schedule that does not exist, or where nothing is given back', async () => {
    const { schedule, appointment } = await booked();
    expect(await returning(['absent', schedule.id], [], [appointment.id])).toEqual([]);
    expect(askedFor(medplum(), 'GET Appointment')).toEqual([]);
  });

  it('is not asked of appointments if nothing returns', async () => {
    const { schedule } = await published();
    expect(await returning([schedule.id], ['other'], ['other'])).toEqual([]);
    expect(askedFor(medplum(), 'GET Slot?_id')).toEqual([]);
  });

  it('is nothing of what another appointment holds', async () => {
    const { schedule, taken, appointment } = await booked();
    const other = await medplum().appointment('booked', [taken]);
    expect(await returning([schedule.id], [taken.id ?? ''], [appointment.id])).toEqual([]);
    expect(startsOf(await returning([schedule.id], [taken.id ?? ''], [appointment.id, other.id]))).toEqual([
      '09:15',
      '09:45',
    ]);
  });

  it('is not asked of appointments that have ended', async () => {
    const { schedule, taken, appointment } = await booked();
    await medplum().appointment('cancelled', [taken]);
    expect(startsOf(await returning([schedule.id], [taken.id ?? ''], [appointment.id]))).toEqual(['09:15', '09:45']);
  });

  it('is looked for in each of the Schedules, a day around the time', async () => {
    const [one, other] = [await booked(), await booked()];
    const found = await returning(
      [one.schedule.id, other.schedule.id],
      [one.taken.id ?? '', other.taken.id ?? ''],
      [one.appointment.id, other.appointment.id],
    );
    expect(startsOf(found)).toEqual(['09:15', '09:15', '09:45', '09:45']);
  });
});
