import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import { withClock } from '../clock.ts';
import { at, DAY, wholeDay, withCalendars } from './fixtures.ts';
import { published } from './published.ts';

const medplum = withCalendars();

/** Tells the Bot what has changed. */
const report = (input: unknown) => handler(medplum().medplum, { input } as Parameters<typeof handler>[1]);

const deleted = (deletedResource: unknown) => report({ deletedResource });

describe('a Slot that somebody has taken', () => {
  it('takes the time of published ones', async () => {
    const { schedule } = await published(medplum());
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
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await report(slot);
    await report(await medplum().change<Slot>(slot, { start: at('10:00', 3), end: at('10:30', 3) }));
    expect(await medplum().times(schedule)).toEqual([...wholeDay, 'busy 10:00-10:30']);
  });

  it('gives its time back when it is deleted', async () => {
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    await report(slot);
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
    await deleted(slot);
    expect(await medplum().times(schedule)).toEqual(wholeDay);
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
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', days - 1));
    await report(slot);
    expect((await medplum().publicationOf(schedule))?.status).toBe(expected ? 'requested' : undefined);
  });

  it('has published the whole calendar if it had many days before', async () => {
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', 16));
    await report(await medplum().change<Slot>(slot, { start: at('09:00', 60), end: at('09:30', 60) }));
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });

  it('in the past is nothing', async () => {
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
    const dayAfter = Date.parse(slot.end) + DAY - Date.now();
    await withClock((pass) => {
      pass(dayAfter);
      return report(slot);
    });
    expect(await medplum().times(schedule)).toContain('free 09:00-09:30');
  });

  it.each([
    ['belongs to no Schedule', 'urn:uuid:1'],
    ['belongs to a Schedule that is gone', 'Schedule/absent'],
  ])('but %s is nothing', async (_, reference) => {
    const slot = await medplum().slot(await medplum().schedule(), 'busy', '09:00', '09:30');
    await report({ ...slot, schedule: { reference } });
    expect(await medplum().find('Task')).toEqual([]);
  });
});
