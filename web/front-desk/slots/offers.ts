import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/config/config.ts';
import { isMarked, publishedKeyOf } from '../../../core/slots/slot.ts';

/** What can be done with time that is blocked: offer the Slot again, remove the block, or change the closed days. */
type Unblocking = 'free' | 'delete' | 'closed-day';

/** How time that is blocked becomes free. */
export function unblockingOf(slot: Slot, config: PublicConfig): Unblocking {
  if (publishedKeyOf(slot, config)?.kind === 'closed') {
    return 'closed-day';
  }
  return isMarked(slot, config) ? 'free' : 'delete';
}

/** The entry that blocks or unblocks a Slot, unless it has been changed since. */
export function slotEntry(slot: Slot, change: Pick<Slot, 'status' | 'comment'> | 'delete'): BundleEntry {
  const request = { url: `Slot/${slot.id}`, ifMatch: `W/"${slot.meta?.versionId}"` };
  if (change === 'delete') {
    return { request: { ...request, method: 'DELETE' } };
  }
  const { comment: _, ...rest } = slot;
  return { request: { ...request, method: 'PUT' }, resource: { ...rest, ...change } };
}
