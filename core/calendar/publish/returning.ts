import type { Slot } from '@medplum/fhirtypes';
import type { ArtefactConfig } from '../../config/config.ts';
import { bufferOf, isBooked, isBuffer, isUnmarked } from '../slots/slot-role.ts';
import { type PublishState, planSlots } from './publish.ts';
import type { SlotChange } from './slot-change.ts';

/** The Slots of a Schedule as they would be if the appointments that give some of them back were not there. */
function slotsWithout(
  { slots, offered, held }: PublishState,
  givenBack: ReadonlySet<string>,
  config: ArtefactConfig,
): Slot[] {
  return slots.flatMap((slot): Slot[] => {
    const { id = '' } = slot;
    if (givenBack.has(bufferOf(slot, config) ?? '')) {
      return [];
    }
    if (!givenBack.has(id) || held.has(id) || !(isBooked(slot) || isBuffer(slot))) {
      return [slot];
    }
    return isUnmarked(slot, config) && !offered.has(id) ? [] : [{ ...slot, status: 'free' }];
  });
}

const gainsTime = ({ stored, resource }: SlotChange): boolean =>
  stored !== undefined &&
  resource.status === 'free' &&
  (stored.status !== 'free' || stored.start !== resource.start || stored.end !== resource.end);

/**
 * The Slots that return when an appointment gives its time back: published ones that it has withdrawn, and free ones
 * made by hand that its buffers have narrowed. Slots that do not exist yet are left to the publication.
 *
 * @param state - with `held` as it is without the appointment
 * @param givenBack - ids of the Slots of the appointment
 * @returns the changes by which they return; those of one group belong together
 */
export function returningSlots(
  state: PublishState,
  givenBack: ReadonlySet<string>,
  config: ArtefactConfig,
): SlotChange[] {
  const byId = new Map(state.slots.map((slot) => [slot.id, slot]));
  const slots = slotsWithout(state, givenBack, config);
  const changes = planSlots({ ...state, slots }, config).changes.map((change): SlotChange => {
    return { ...change, stored: change.stored && byId.get(change.stored.id) };
  });
  const groups = new Set(changes.filter(gainsTime).map(({ group }) => group));
  return changes.filter(({ group }) => groups.has(group));
}
