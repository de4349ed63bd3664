import type { Slot } from '@medplum/fhirtypes';
import { useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { slotEntry, unblockingOf } from '../../slots/offers.ts';
import { transaction } from '../fhir/client.ts';
import { useAnnounce } from '../parts/announce.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Blocks and unblocks one Slot. */
export function useSlotChange(slot: Slot, onChanged: () => void) {
  const announce = useAnnounce();
  const { appointment: words } = useTexts();
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const write = async (change: Parameters<typeof slotEntry>[1], done: 'blocked' | 'unblocked'): Promise<boolean> => {
    setBusy(true);
    const answer = await transaction([slotEntry(slot, change)]);
    setBusy(false);
    setRefusal(isRefusal(answer) ? answer : undefined);
    if (!isRefusal(answer)) {
      announce(words.done[done]);
      onChanged();
    }
    return !isRefusal(answer);
  };
  const block = (comment: string) =>
    write({ status: 'busy-unavailable', ...(comment.trim() && { comment: comment.trim() }) }, 'blocked');
  const unblock = async (): Promise<boolean> => {
    const way = unblockingOf(slot, config);
    return way !== 'closed-day' && write(way === 'delete' ? 'delete' : { status: 'free' }, 'unblocked');
  };
  return { block, unblock, refusal, isBusy };
}
