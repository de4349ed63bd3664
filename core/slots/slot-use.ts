import type { Appointment, Slot } from '@medplum/fhirtypes';
import { idIn } from '../fhir/reference.ts';

/** The status of a Slot that is taken for an appointment. */
export type TakenStatus = Extract<Slot['status'], 'busy' | 'busy-tentative'>;

/** How an appointment uses a slot that it refers to. */
interface SlotUseRule {
  /** Of several uses of one slot, the one with the greatest strength counts. */
  readonly strength: number;
  /** Whether the slot belongs to the appointment, so that no other booking may take it. */
  readonly isHeld: boolean;
  /** The status that the slot must have; absent where any will do. */
  readonly status?: TakenStatus;
}

/**
 * How an appointment can use the slots that it refers to.
 *
 * @see specification section 3
 */
const slotUses = {
  /** The appointment was cancelled or is void: it has given the slot back. */
  'given-back': { strength: 0, isHeld: false },
  /** The slot belongs to the appointment, whatever its status. */
  held: { strength: 1, isHeld: true },
  /** The appointment waits for the clinic. */
  requested: { strength: 2, isHeld: true, status: 'busy-tentative' },
  /** The appointment is confirmed. */
  confirmed: { strength: 3, isHeld: true, status: 'busy' },
} as const satisfies Record<string, SlotUseRule>;

/** How an appointment uses the slots that it refers to. */
export type SlotUse = keyof typeof slotUses;

/** How appointments use slots, by slot id; a slot without an entry is not referred to. */
export type SlotUses = ReadonlyMap<string, SlotUse>;

const ruleOf = (use: SlotUse | undefined): SlotUseRule => slotUses[use ?? 'given-back'];

/** Of the uses that several appointments have for one slot, the strongest. */
export function strongestUse(...uses: readonly (SlotUse | undefined)[]): SlotUse | undefined {
  return uses
    .filter((use) => use !== undefined)
    .reduce<SlotUse | undefined>(
      (strongest, use) =>
        strongest === undefined || ruleOf(use).strength > ruleOf(strongest).strength ? use : strongest,
      undefined,
    );
}

/** Whether a slot with this use belongs to an appointment. */
export function isHeld(use: SlotUse | undefined): boolean {
  return ruleOf(use).isHeld;
}

/** The status that a slot with this use must have; `undefined` where any will do. */
export function slotStatusOf(use: SlotUse | undefined): TakenStatus | undefined {
  return ruleOf(use).status;
}

/** The ids of the slots that an appointment refers to. */
export function slotIdsOf(appointment: Pick<Appointment, 'slot'> | undefined): string[] {
  return (appointment?.slot ?? []).flatMap((reference) => idIn(reference, 'Slot') ?? []);
}
