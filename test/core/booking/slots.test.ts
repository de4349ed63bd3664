import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { slotEntries } from '../../../core/booking/slots/synchronize.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { appointment, config, now, slot } from './support.ts';

const originSystem = artefactUri(config, 'LocalSlotOrigin');
const piece = (origin: string): Partial<Slot> => ({ identifier: [{ system: originSystem, value: origin }] });
const with_ = (status: Appointment['status']): Appointment => appointment({ id: 'a', status });

describe('slots that follow their appointment', () => {
  it('never lose or double a minute', () => {
    const status = fc.constantFrom<Slot['status']>('free', 'busy', 'busy-tentative');
    const given = fc.constantFrom<Appointment['status']>('pending', 'booked', 'cancelled', 'fulfilled');
    fc.assert(
      fc.property(fc.array(status, { minLength: 1, maxLength: 5 }), given, (states, appointmentStatus) => {
        const clock = (half: number): string => new Date((16 + half) * 1_800_000).toISOString().slice(11, 16);
        const slots = states.map((one, index) =>
          slot(index === 0 ? 'nine' : `p${index}`, clock(index), clock(index + 1), {
            status: one,
            ...piece('nine'),
          }),
        );
        const entries = slotEntries(
          { ...with_(appointmentStatus), start: slots[0]?.start, end: slots[0]?.end },
          { slots, uses: new Map(), schedules: [], lost: [] },
          config,
          () => 'urn:uuid:x',
          now,
        );
        const after = new Map(slots.map((one) => [one.id, one]));
        for (const { resource } of entries) {
          if (isResource(resource, 'Slot')) {
            after.set(resource.id, resource);
          }
        }
        const minutes = (all: Iterable<Slot>) =>
          [...all]
            .filter((one) => one.status !== 'entered-in-error')
            .reduce((sum, { start, end }) => sum + Date.parse(end) - Date.parse(start), 0);
        expect(minutes(after.values())).toBe(minutes(slots));
      }),
    );
  });
});
