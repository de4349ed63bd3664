import type { Bundle, Slot } from '@medplum/fhirtypes';
import { readState, search } from '../book/reads.ts';
import { slotIdsOf, slotUseOf } from '../book/reschedule.ts';
import { resourcesOfType } from '../resource-set.ts';
import { type SlotUse, type SlotUses, strongest } from './calendar.ts';

/** All that was split off from some slots, and how appointments refer to it. */
export interface Fragments {
  readonly slots: readonly Slot[];
  readonly uses: SlotUses;
}

const COUNT = '1000';

/** Statuses of appointments that hold slots, and of those that do not: of the many who once were, none hides one who is. */
const open = 'proposed,pending,booked,arrived,fulfilled,noshow,checked-in,waitlist';
const over = 'cancelled,entered-in-error';

/**
 * What must be read to give slots back, or to find the free rest of slots that were split: all pieces, and the
 * appointments on them. To be sent with the Bot's own credentials, for the appointments of others count as well; none
 * of it reaches the caller.
 *
 * @param origins - ids of the slots from which the pieces were split off
 * @param originSystem - identifier system under which a slot names its origin
 */
export function fragmentReads(origins: readonly string[], originSystem: string): Bundle {
  const identifiers = origins.map((id) => `${originSystem}|${id}`).join(',');
  const references = origins.map((id) => `Slot/${id}`).join(',');
  return {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      search('Slot', [
        ['_id', origins.join(',')],
        ['_count', COUNT],
      ]),
      search('Slot', [
        ['identifier', identifiers],
        ['_count', COUNT],
      ]),
      ...[open, over].flatMap((status) => [
        search('Appointment', [
          ['slot', references],
          ['status', status],
          ['_count', COUNT],
        ]),
        search('Appointment', [
          ['slot:Slot.identifier', identifiers],
          ['status', status],
          ['_count', COUNT],
        ]),
      ]),
    ],
  };
}

/**
 * Reads the answer to `pieceReads`.
 *
 * @param rewritten - ids of appointments that are being rewritten, whose present references do not count
 * @returns the pieces, or the status of a search that failed
 */
export function readFragments(
  response: Bundle,
  rewritten: readonly (string | undefined)[],
): Fragments | { readonly status: number } {
  const read = readState(response);
  if (!('state' in read)) {
    return read;
  }
  const uses = new Map<string, SlotUse>();
  for (const appointment of resourcesOfType(read.state, 'Appointment').filter(({ id }) => !rewritten.includes(id))) {
    const use = slotUseOf(appointment);
    for (const id of slotIdsOf(appointment)) {
      uses.set(id, strongest(use, uses.get(id)) ?? use);
    }
  }
  return { slots: resourcesOfType(read.state, 'Slot'), uses };
}
