import type { Appointment, Bundle, Slot } from '@medplum/fhirtypes';
import type { SlotUses } from '../../slots/slot-use.ts';
import { holdsSlots, statusQuery } from '../appointment/status.ts';
import { resourcesOfType } from '../resource-set.ts';
import { readState, search } from '../search.ts';
import { usesOf } from './holders.ts';

/** Slots that were split, with everything split off from them, and how appointments use them. */
export interface Fragments {
  readonly slots: readonly Slot[];
  readonly uses: SlotUses;
  /** Expired holds and requests on them that are in the way of a booking; they do not count as uses. */
  readonly expired?: readonly Appointment[];
  /** The slots whose fragments were read; absent if all were read. */
  readonly origins?: readonly string[];
}

const COUNT = '1000';

/**
 * Appointments that hold slots are searched for apart from those that do not, so that many of the latter cannot keep one of
 * the former off the page.
 */
const statusQueries = [statusQuery(holdsSlots), statusQuery((appointment) => !holdsSlots(appointment))];

/**
 * What must be read to give slots back, or to find the free parts of slots that were split: all fragments, and the
 * appointments on them. It must be sent with the Bot's own credentials, since the appointments of others count as well; none
 * of it reaches the caller.
 *
 * @param origins - ids of the slots from which the fragments were split off
 * @param originSystem - identifier system under which a slot names its origin
 */
export function fragmentReads(origins: readonly string[], originSystem: string): Bundle {
  const identifiers = origins.map((id) => `${originSystem}|${id}`).join(',');
  const references = origins.map((id) => `Slot/${id}`).join(',');
  return {
    resourceType: 'Bundle',
    type: 'batch',
    // Medplum carries the entries out one after the other: a Slot that is given back in between is then free, and not held
    // by nobody.
    entry: [
      ...statusQueries.flatMap((status) => [
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
      search('Slot', [
        ['_id', origins.join(',')],
        ['_count', COUNT],
      ]),
      search('Slot', [
        ['identifier', identifiers],
        ['_count', COUNT],
      ]),
    ],
  };
}

/**
 * Reads the answer to `fragmentReads`.
 *
 * @param rewritten - ids of appointments that are being rewritten, whose current references do not count
 * @param isOver - whether an appointment no longer has a right to its slots
 * @returns the fragments, or the status of a search that failed
 */
export function readFragments(
  response: Bundle,
  rewritten: readonly (string | undefined)[],
  isOver: (appointment: Appointment) => boolean = () => false,
): Fragments | { readonly status: number } {
  const read = readState(response);
  if (!('state' in read)) {
    return read;
  }
  const others = resourcesOfType(read.state, 'Appointment').filter(({ id }) => !rewritten.includes(id));
  const uses = usesOf(others.filter((one) => !isOver(one)));
  return { slots: resourcesOfType(read.state, 'Slot'), uses, expired: others.filter(isOver) };
}
