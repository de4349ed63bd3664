import '../../config.ts';
import { expect, it } from '@jest/globals';
import type { Schedule, Slot } from '@medplum/fhirtypes';
import { readOpeningHours } from '../../../../bots/lib/calendar/opening-hours.ts';
import { publishWindow } from '../../../../bots/lib/calendar/window.ts';
import { at, type Calendar, DAY, day, open, type Stored, wholeDay, withCalendars } from '../../calendar/fixtures.ts';

const medplum = withCalendars();

const theDay = { start: day, end: day + DAY };

/** Publishes the day of a calendar. */
async function publish({ id }: Stored<Schedule>) {
  const { hours } = await readOpeningHours(medplum().medplum, id);
  if (!hours) {
    throw new Error('There is no such Schedule.');
  }
  return publishWindow(medplum().medplum, hours, theDay, { row: () => [] });
}

/** A calendar whose day is published. */
async function published(): Promise<Calendar> {
  const calendar = await medplum().calendar();
  await publish(calendar.schedule);
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

it('a window leaves a Slot alone that looks free, although an appointment holds it', async () => {
  const { schedule, service } = await published();
  const held = await slotAt(schedule, '09:00');
  await medplum().appointment('booked', [held]);
  await medplum().appointment('cancelled', [await slotAt(schedule, '09:30')]);
  await medplum().change(service, { availableTime: open('10:00', '11:00') });
  expect((await publish(schedule)).kind).toBe('published');
  expect(await medplum().times(schedule)).toEqual([
    'free 09:00-09:30',
    'entered-in-error 09:30-10:00',
    ...wholeDay.slice(2),
  ]);
});
