import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { handler as publishSlotsBot } from '../../../bots/calendar/publish-slots.ts';
import { handler as syncSlotsBot } from '../../../bots/calendar/sync-slots.ts';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { withClock } from '../clock.ts';
import { config } from '../config.ts';
import { at, DAY, type Stored, wholeDay, withCalendars } from './fixtures.ts';
import { published } from './published.ts';

const medplum = withCalendars();

/** Tells the Bot what has changed. */
const report = (input: unknown) =>
  publishSlotsBot(medplum().medplum, { input } as Parameters<typeof publishSlotsBot>[1]);

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

describe('publish slots held', () => {
  const outcome = { resourceType: 'OperationOutcome', issue: [] };
  const overtaken: Answer = { status: 412, body: outcome };

  const statusOf = async ({ resourceType, id }: Appointment | Slot) =>
    (await medplum().read<Appointment | Slot>(`${resourceType}/${id}`))?.status;

  describe('a hold', () => {
    it('gives way to what staff book', async () => {
      const { schedule } = await published(medplum());
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

    it('returns as it was when somebody deletes it', async () => {
      const { slot } = await held();
      await remove(slot);
      await deleted(slot);
      const { meta, ...stored } = (await medplum().read<Slot>(`Slot/${slot.id}`)) ?? {};
      const { meta: before, ...rest } = slot;
      expect(stored).toEqual(rest);
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

    it.each<[string, Parameters<typeof held>]>([
      ['was cancelled', ['cancelled']],
      ['is over', ['proposed', over]],
    ])('does not return if the appointment %s', async (_, given) => {
      const { slot, appointment } = await held(...given);
      await remove(slot);
      await deleted(slot);
      expect(await statusOf(slot)).toBeUndefined();
      expect(await statusOf(appointment)).toBe('cancelled');
    });

    it('does not return if it is there', async () => {
      const { slot } = await held();
      const current = await medplum().change<Slot>(slot, { status: 'busy-unavailable' });
      await deleted(slot);
      expect((await medplum().read<Slot>(`Slot/${slot.id}`))?.meta?.versionId).toBe(current.meta?.versionId);
    });

    it('that cannot be written again is an error, after everything else', async () => {
      const { slot, schedule } = await held();
      const serviced = await medplum().change<Schedule>(schedule, {
        serviceType: (await medplum().calendar()).schedule.serviceType,
      });
      await remove(slot);
      medplum().interfere(({ entries }) => (entries.includes(`PUT Slot/${slot.id}`) ? 'no-answer' : undefined));
      await expect(deleted(slot)).rejects.toThrow(`Error: Slot/${slot.id} could not be written (lost).`);
      expect(serviced.id && (await medplum().publicationOf({ ...serviced, id: serviced.id }))?.status).toBe(
        'requested',
      );
    });
  });

  describe('what cannot be published around a Slot', () => {
    const failing = async (answer: Answer | 'no-answer', schedule: Stored<Schedule>) => {
      medplum().interfere(({ entries }) =>
        entries.some((entry) => entry.startsWith('PUT Slot')) ? answer : undefined,
      );
      const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
      return withClock(() => report(slot));
    };

    it.each<[string, Answer | 'no-answer', number]>([
      ['overtaken', overtaken, config.maxAttempts],
      ['lost', 'no-answer', 1],
      ['failed', { status: 403, body: outcome }, 1],
    ])('is an error, and left to a publication (%s)', async (kind, answer) => {
      const { schedule } = await published(medplum());
      await expect(failing(answer, schedule)).rejects.toThrow(
        `Error: The Slots of Schedule/${schedule.id} could not be written (${kind}).`,
      );
      expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    });

    it('is not blamed on opening hours that are wrong, too', async () => {
      const { schedule, service } = await published(medplum());
      await medplum().change(service, { extension: undefined });
      await expect(failing('no-answer', schedule)).rejects.toThrow(/could not be written \(lost\)\.$/);
    });

    it('is an error that says why Medplum refuses it', async () => {
      const { schedule } = await published(medplum());
      const issue = [{ details: { text: 'Not like this' } }];
      await expect(failing({ status: 400, body: { ...outcome, issue } }, schedule)).rejects.toThrow(
        `Error: The Slots of Schedule/${schedule.id} could not be written (refused). ` +
          'Medplum does not accept the Slots of these opening hours: Not like this',
      );
      expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    });

    it('is tried for some seconds', async () => {
      const { schedule } = await published(medplum());
      const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
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
    });

    it('is all said at once', async () => {
      const { schedule } = await published(medplum());
      const slot = await medplum().slot(schedule, 'free', '09:00', '09:30');
      medplum().interfere(({ entries: [entry = ''] }) => (entry.includes('Slot') ? 'not-connected' : undefined));
      const failure = await report({ ...slot, status: 'busy' }).catch(String);
      expect(String(failure).split('\n')).toHaveLength(2);
      expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    });
  });
});

describe('sync slots', () => {
  const changed = (input: Appointment | { deletedResource: Appointment }) =>
    syncSlotsBot(medplum().medplum, { input } as Parameters<typeof syncSlotsBot>[1]);

  /** An appointment whose slot was taken for it. */
  async function booked(status: 'booked' | 'pending' = 'booked') {
    const slot = await medplum().slot(await medplum().schedule(), 'free', '09:00', '09:30');
    const appointment = await medplum().appointment(status, [slot]);
    await changed(appointment);
    return { slot, appointment };
  }

  const statusOf = async ({ id }: Stored<Slot>) => (await medplum().read<Slot>(`Slot/${id}`))?.status;

  it.each([
    ['booked', 'busy'],
    ['pending', 'busy-tentative'],
  ] as const)('the slots of an appointment that is %s are %s', async (status, expected) => {
    const { slot } = await booked(status);
    expect(await statusOf(slot)).toBe(expected);
  });

  it('a cancelled appointment gives its slots back', async () => {
    const { slot, appointment } = await booked();
    await changed(await medplum().change<Appointment>(appointment, { status: 'cancelled' }));
    expect(await statusOf(slot)).toBe('free');
  });

  it('a deleted appointment gives its slots back', async () => {
    const { slot, appointment } = await booked();
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    await changed({ deletedResource: appointment });
    expect(await statusOf(slot)).toBe('free');
  });
});
