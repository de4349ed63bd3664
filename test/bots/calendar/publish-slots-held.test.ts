import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule, Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { withClock } from '../clock.ts';
import { config } from '../config.ts';
import { at, type Stored, withCalendars } from './fixtures.ts';
import { published } from './published.ts';

const medplum = withCalendars();

const outcome = { resourceType: 'OperationOutcome', issue: [] };
const overtaken: Answer = { status: 412, body: outcome };

/** Tells the Bot what has changed. */
const report = (input: unknown) => handler(medplum().medplum, { input } as Parameters<typeof handler>[1]);

const deleted = (deletedResource: unknown) => report({ deletedResource });

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
    expect(serviced.id && (await medplum().publicationOf({ ...serviced, id: serviced.id }))?.status).toBe('requested');
  });
});

describe('what cannot be published around a Slot', () => {
  const failing = async (answer: Answer | 'no-answer', schedule: Stored<Schedule>) => {
    medplum().interfere(({ entries }) => (entries.some((entry) => entry.startsWith('PUT Slot')) ? answer : undefined));
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
