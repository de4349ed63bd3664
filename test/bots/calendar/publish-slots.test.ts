import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { handler as publishSlotsBot } from '../../../bots/calendar/publish-slots.ts';
import type { BotResponse } from '../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { withClock } from '../clock.ts';
import { config } from '../config.ts';
import { at, type Stored, wholeDay, withCalendars } from './fixtures.ts';
import { published } from './published.ts';

const medplum = withCalendars();

/** Tells the Bot what has changed. */
const report = (input: unknown) =>
  publishSlotsBot(medplum().medplum, { input } as Parameters<typeof publishSlotsBot>[1]);

const deleted = (deletedResource: unknown) => report({ deletedResource });

describe('a Slot that somebody has taken', () => {
  it('lets what was never there be published around it, with the row of its Schedule', async () => {
    const { schedule } = await medplum().calendar();
    await report(await medplum().slot(schedule, 'busy', '09:00', '09:30'));
    expect((await medplum().publicationOf(schedule))?.status).toBe('accepted');
    expect(await medplum().times(schedule)).toEqual(expect.arrayContaining(['busy 09:00-09:30', ...wholeDay.slice(1)]));
  });

  it.each([
    [14, false],
    [15, true],
  ])('for %d days publishes the whole calendar: %p', async (days, expected) => {
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', days - 1));
    await report(slot);
    expect((await medplum().publicationOf(schedule))?.status === 'requested').toBe(expected);
  });

  it('has published the whole calendar if it had many days before', async () => {
    const { schedule } = await published(medplum());
    const slot = await medplum().slot(schedule, 'busy', at('00:00', 1), at('00:00', 16));
    await report(await medplum().change<Slot>(slot, { start: at('09:00', 60), end: at('09:30', 60) }));
    expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
  });
});

describe('publish slots held', () => {
  const outcome = { resourceType: 'OperationOutcome', issue: [] };
  const overtaken: BotResponse = { status: 412, body: outcome };

  const statusOf = async ({ resourceType, id }: Appointment | Slot) =>
    (await medplum().read<Appointment | Slot>(`${resourceType}/${id}`))?.status;

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
  });

  describe('what cannot be published around a Slot', () => {
    const failing = async (response: BotResponse | 'no-answer', schedule: Stored<Schedule>) => {
      medplum().interfere(({ entries }) =>
        entries.some((entry) => entry.startsWith('PUT Slot')) ? response : undefined,
      );
      const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
      return withClock(() => report(slot));
    };

    it.each<[string, BotResponse | 'no-answer']>([
      ['overtaken', overtaken],
      ['lost', 'no-answer'],
      ['failed', { status: 403, body: outcome }],
    ])('is an error, and left to a publication (%s)', async (kind, response) => {
      const { schedule } = await published(medplum());
      await expect(failing(response, schedule)).rejects.toThrow(
        `Error: The Slots of Schedule/${schedule.id} could not be written (${kind}).`,
      );
      expect((await medplum().publicationOf(schedule))?.status).toBe('requested');
    });
  });
});
