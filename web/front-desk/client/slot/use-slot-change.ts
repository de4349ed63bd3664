import type { Slot } from '@medplum/fhirtypes';
import { slotEntry, unblockingOf } from '../../slots/offers.ts';
import { transaction } from '../fhir/client.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Blocks and unblocks one Slot. */
export function useSlotChange(slot: Slot, onChanged: () => void) {
  const { appointment: words } = useTexts();
  const { submit, refusal, isBusy } = useSubmit();
  const write = async (change: Parameters<typeof slotEntry>[1], done: 'blocked' | 'unblocked'): Promise<boolean> => {
    const answer = await submit(() => transaction([slotEntry(slot, change)]), words.done[done]);
    if (answer) {
      onChanged();
    }
    return answer !== undefined;
  };
  const block = (comment: string) =>
    write({ status: 'busy-unavailable', ...(comment.trim() && { comment: comment.trim() }) }, 'blocked');
  const unblock = async (): Promise<boolean> => {
    const way = unblockingOf(slot, config);
    return way !== 'closed-day' && write(way === 'delete' ? 'delete' : { status: 'free' }, 'unblocked');
  };
  return { block, unblock, refusal, isBusy };
}
