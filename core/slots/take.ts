import type { PublicConfig } from '../config/config.ts';
import { type Interval, intersection } from '../time/interval.ts';
import { type Calendar, isBooked, isBuffer } from './slot.ts';
import { isHeld, slotStatusOf, type TakenStatus } from './slot-use.ts';
import { withoutBuffersOf } from './terms.ts';

/**
 * Takes a time out of Slots: each is narrowed to it and gets the given status. What is left of them is settled afterwards
 * (`settle`), like everything else that the change excludes.
 *
 * @param ids - Slots of the calendar
 * @param interval - the time wanted; what lies outside a Slot is not taken
 */
export function withTaken(
  calendar: Calendar,
  ids: readonly string[],
  interval: Interval,
  status: TakenStatus,
): Calendar {
  const result = new Map(calendar);
  for (const id of ids) {
    const slot = calendar.get(id);
    const part = slot && intersection(slot, interval);
    if (part) {
      result.set(id, { ...slot, ...part, status });
    }
  }
  return result;
}

/**
 * Gives back Slots, and their buffers with them: an offer is free again; what was never on offer is void. A Slot that
 * other appointments hold gets the status that they require; one that is blocked stays so.
 *
 * @param ids - of Slots, deleted ones included
 */
export function withGivenBack(calendar: Calendar, ids: readonly string[], config: PublicConfig): Calendar {
  const result = new Map(calendar);
  const gone = new Set<string>();
  for (const id of ids) {
    const slot = calendar.get(id);
    if (slot && isHeld(slot.use)) {
      if (isBooked(slot)) {
        result.set(id, { ...slot, status: slotStatusOf(slot.use) ?? slot.status });
      }
      continue;
    }
    // Also those of a Slot that somebody has deleted.
    gone.add(id);
    if (slot?.role === 'offer' && isBooked(slot)) {
      result.set(id, { ...slot, status: 'free' });
    } else if (slot?.role === 'taking' && (isBooked(slot) || isBuffer(slot.resource))) {
      result.set(id, { ...slot, status: 'entered-in-error', role: 'void' });
    }
  }
  return withoutBuffersOf(result, gone, config);
}
