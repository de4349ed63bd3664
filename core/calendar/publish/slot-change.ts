import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import { canonicalJson } from '../../fhir/canonical-json.ts';
import { parseInstant } from '../../fhir/instant.ts';
import { inWriteOrder, updateEntry } from '../../fhir/update-entry.ts';

/** A Slot that is to be created, or changed if it still has the version that was read. */
export interface SlotChange {
  readonly stored: Slot | undefined;
  readonly resource: Slot;
  /** Changes with the same value must be written together. */
  readonly group: string;
}

/** Withdraws a Slot. It is not deleted, so that its version protects against a concurrent booking. */
export function withdrawal(stored: Slot, group: string): SlotChange {
  return { stored, resource: { ...stored, status: 'entered-in-error' }, group };
}

/** Whether a change gives a stored Slot a new version: a Slot that is written unchanged keeps its version. */
const isNewVersion = ({ stored, resource }: SlotChange): boolean =>
  stored !== undefined && canonicalJson(stored) !== canonicalJson(resource);

/**
 * The changes that may be written whatever else is written at that moment: a group that creates Slots is among them only
 * if it also changes a stored one, on condition of its version. Two runs that only create the same Slot at the same
 * moment do not notice each other.
 */
export function onVersions(changes: readonly SlotChange[]): SlotChange[] {
  const creating = new Set(changes.flatMap(({ stored, group }) => (stored ? [] : group)));
  const changing = new Set(changes.flatMap((change) => (isNewVersion(change) ? change.group : [])));
  return changes.filter(({ group }) => !creating.has(group) || changing.has(group));
}

/**
 * The time by which changes are ordered: a Slot is withdrawn before the overlapping Slots that replace it are created.
 */
function moment({ resource }: SlotChange): number {
  return parseInstant(resource.status === 'entered-in-error' ? resource.start : resource.end) ?? 0;
}

/**
 * Divides the changes into portions that can be written one after the other, the nearest future first. Changes that
 * belong together stay together.
 *
 * @param size - how many changes a portion has at least, except for the last
 */
export function portions(changes: readonly SlotChange[], size: number): SlotChange[][] {
  const groups = new Map<string, SlotChange[]>();
  for (const change of changes) {
    groups.set(change.group, [...(groups.get(change.group) ?? []), change]);
  }
  const ordered = [...groups.values()]
    .map((group) => ({ group, at: Math.max(...group.map(moment)) }))
    .sort((a, b) => a.at - b.at);
  const result: SlotChange[][] = [];
  for (const { group } of ordered) {
    const last = result.at(-1);
    if (last && last.length < size) {
      last.push(...group);
    } else {
      result.push([...group]);
    }
  }
  return result;
}

/** The transaction entries that make all of the changes or none. */
export function slotChangeEntries(changes: readonly SlotChange[]): BundleEntry[] {
  return inWriteOrder(
    changes.map(({ stored, resource }) =>
      stored ? updateEntry(stored, resource) : { request: { method: 'POST', url: 'Slot' }, resource },
    ),
  );
}
