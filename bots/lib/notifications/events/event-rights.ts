import type { MedplumClient } from '@medplum/core';
import type { Change } from '../../../../core/notifications/events/appointment-events.ts';
import { couldRead, readableQuery } from '../../../../core/notifications/events/read-access.ts';
import { readInTransaction } from '../../read.ts';
import type { SubscriptionOutbox } from '../outbox-store.ts';
import { type EventState, knownEvents } from './event-state.ts';

/** Whether a subscriber may read an appointment. */
type MayRead = (stored: SubscriptionOutbox, appointment: string) => boolean;

/** Asks which of some appointments the subscribers may read; criteria that several of them share are asked about once. */
export type AskRights = (outboxes: readonly SubscriptionOutbox[], ids: readonly string[]) => Promise<MayRead>;

/** Asks Medplum which appointments meet which criteria, and remembers its answers. */
export function rightsOf(medplum: MedplumClient): AskRights {
  const known = new Map<string, boolean>();
  const key = (criteria: string, id: string): string => `${id} ${criteria}`;
  return async (outboxes, ids) => {
    const all = [...new Set(outboxes.flatMap(({ row }) => row.outboxes.readable))];
    const criteria = all.filter((one) => ids.some((id) => !known.has(key(one, id))));
    const found = await readInTransaction(
      medplum,
      criteria.map((one) => readableQuery(one, ids)),
    );
    for (const [index, one] of criteria.entries()) {
      const met = new Set((found[index] ?? []).map(({ id }) => id));
      ids.forEach((id) => {
        known.set(key(one, id), met.has(id));
      });
    }
    return ({ row }, id) => row.outboxes.readable.some((one) => known.get(key(one, id)) === true);
  };
}

/** Whether a subscriber may be notified of a change. Medplum can no longer be asked about deleted appointments. */
export function mayBeTold(
  state: EventState,
  stored: SubscriptionOutbox,
  { current }: Change,
  mayRead: MayRead,
): boolean {
  const { id = '' } = current;
  if (!state.gone.has(id)) {
    return mayRead(stored, id);
  }
  const wasTold = knownEvents(state, stored.subscription.id).some(({ appointment }) => appointment === id);
  return couldRead(stored.row.outboxes.readable, current, wasTold);
}
