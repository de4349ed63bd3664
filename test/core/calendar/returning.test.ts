import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import type { PublishState } from '../../../core/calendar/publish/publish.ts';
import { returningSlots } from '../../../core/calendar/publish/returning.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { at, code, config, minutes, publish, scheduleOf, service, slot, stateOf, times } from './support.ts';

const everyQuarter = service([minutes('alignmentInterval', 15)], {
  availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '09:00:00', availableEndTime: '10:15:00' }],
});
const schedule = scheduleOf([everyQuarter]);

/** What is stored once an appointment has taken a published Slot, and the rest was published around it. */
function booked(start: string, more: Partial<Slot> = {}): { readonly slots: Slot[]; readonly id: string } {
  const all = publish(stateOf([], { schedule }, [everyQuarter])).map((one) => ({ ...one, meta: { versionId: '1' } }));
  const own = all.find((one) => one.start === at(start))?.id ?? '';
  const taken = all.map((one): Slot => (one.id === own ? { ...one, status: 'busy', ...more } : one));
  return { slots: publish(stateOf(taken, { schedule }, [everyQuarter])), id: own };
}

/** The times that return, and for which the appointment could be moved there. */
function returning(
  slots: readonly Slot[],
  ids: readonly string[],
  more: Partial<PublishState> = {},
  hours = everyQuarter,
) {
  const changes = returningSlots(stateOf(slots, { schedule, ...more }, [hours]), new Set(ids), config);
  return { changes, free: times(changes.map(({ resource }) => resource)) };
}

const bufferOf = (id: string): Partial<Slot> => ({
  identifier: [
    { system: artefactUri(config, 'LocalBuffer'), value: id },
    { system: artefactUri(config, 'LocalSlotOrigin'), value: id },
  ],
  comment: 'buffer after appointment',
});

describe('the Slots that return with a move', () => {
  it('are the published ones that the appointment has withdrawn, each as it was stored', () => {
    const { slots, id } = booked('09:30');
    expect(times(slots)).toEqual(['09:00–09:30']);
    const { changes, free } = returning(slots, [id]);
    expect(free).toEqual(['09:15–09:45', '09:45–10:15']);
    for (const { stored, resource } of changes) {
      expect(slots).toContain(stored);
      expect([stored?.status, resource.id]).toEqual(['entered-in-error', stored?.id]);
    }
  });

  it('are none that others hold off the market as well', () => {
    const { slots, id } = booked('09:30');
    const block = slot('block', '10:00', '10:15', 'busy-unavailable');
    expect(returning([...slots, block], [id]).free).toEqual(['09:15–09:45']);
  });

  it('are none while another appointment holds the same Slot', () => {
    const { slots, id } = booked('09:30');
    expect(returning(slots, [id], { held: new Set([id]) }).free).toEqual([]);
  });

  it('are none that the opening hours no longer ask for', () => {
    const { slots, id } = booked('09:30');
    const shorter = service([minutes('alignmentInterval', 30)]);
    expect(returning(slots, [id], {}, shorter).free).not.toContain('09:15–09:45');
    const off = {
      schedule: { ...schedule, extension: [{ url: artefactUri(config, 'LocalPublishing'), valueBoolean: false }] },
    };
    expect(returning(slots, [id], off).free).toEqual([]);
  });

  it('are none if the opening hours are invalid: what is published stays as it is', () => {
    const { slots, id } = booked('09:30');
    const invalid = service([minutes('alignmentInterval', 15), code('timezone', 'Europe/Nowhere')]);
    expect(returning(slots, [id], {}, invalid).changes).toEqual([]);
  });

  it('are free ones made by hand that its buffer has narrowed, whole again', () => {
    const own = slot('own', '09:00', '09:30', 'busy', {
      identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'own' }],
    });
    const buffer = slot('buffer', '09:30', '09:40', 'busy-unavailable', bufferOf('own'));
    const off = { schedule: scheduleOf([]) };
    const stored = publish(stateOf([own, buffer, slot('next', '09:30', '10:00')], off));
    expect(times(stored)).toEqual(['09:40–10:00']);
    expect(returning(stored, ['own'], off).free).toEqual(['09:30–10:00']);
  });

  it('are none that an appointment of Medplum gives back: it was never on offer, what lay beneath it is', () => {
    const all = publish(stateOf([], { schedule }, [everyQuarter])).map((one) => ({ ...one, meta: { versionId: '1' } }));
    const taking = slot('native', '09:30', '10:00', 'busy');
    const stored = publish(stateOf([...all, taking], { schedule }, [everyQuarter]));
    const { changes, free } = returning(stored, ['native']);
    expect(free).toEqual(['09:15–09:45', '09:30–10:00', '09:45–10:15']);
    expect(changes.map(({ stored: one }) => one?.id)).not.toContain('native');
  });
});
