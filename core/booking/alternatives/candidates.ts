import type { Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../fhir/instant.ts';
import type { Alternative } from '../../fhir/outcome/outcome.ts';
import { findChain } from '../../slots/chain.ts';
import type { Interval } from '../../time/interval.ts';
import { MOST_SLOTS } from '../appointment/elements.ts';
import type { StartBounds } from '../policy/judge.ts';

/** Free Slots of one Schedule, and when an appointment in it may start. */
export interface Offers {
  readonly slots: readonly Slot[];
  readonly bounds: StartBounds;
}

/** The same, with readable times. */
interface TimedOffers extends Pick<Offers, 'bounds'> {
  readonly slots: readonly (Interval & { readonly id: string })[];
}

/** How many starts in one long slot are considered, besides the last possible one. */
const MOST_OF_SLOT = 4;

/**
 * Possible starts for a length of time in a slot: steps of that length from the start of the slot, of many those nearest to
 * the wanted start, and the last start that fits. A slot that is too short gives its own start, because other slots may
 * follow it.
 */
function startsIn(slot: Interval, length: number, wanted: number, { earliest, latest }: StartBounds): number[] {
  const last = slot.end - length;
  if (last < slot.start) {
    return [slot.start];
  }
  const from = Math.max(slot.start, earliest);
  const goal = Math.min(Math.max(wanted, from), Math.min(last, latest));
  const near = Math.round((goal - slot.start) / length);
  const steps = Array.from({ length: MOST_OF_SLOT }, (_, index) => near + index - Math.floor(MOST_OF_SLOT / 2) + 1);
  const inSteps = steps.map((step) => slot.start + step * length).filter((start) => start <= last);
  return [...new Set([...inSteps, last])].filter((start) => start >= slot.start);
}

/** The slots that cover a time in every Schedule of a group; `undefined` if a Schedule has none, or if they are too many. */
function slotsAt(group: readonly TimedOffers[], interval: Interval): string[] | undefined {
  const chains = group.map(({ slots, bounds: { earliest, latest } }) =>
    interval.start >= earliest && interval.start <= latest ? findChain(slots, interval) : undefined,
  );
  const slots = chains.flatMap((chain) => chain ?? []).map(({ id }) => id);
  return chains.includes(undefined) || slots.length > MOST_SLOTS ? undefined : slots;
}

function timeOf({ id, start, end }: Slot): TimedOffers['slots'] {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  return id === undefined || from === undefined || to === undefined ? [] : [{ id, start: from, end: to }];
}

/** The times of one group of Schedules, all of which are needed at once. */
function timesOf(offers: readonly Offers[], wanted: Interval): Alternative[] {
  const group = offers.map(({ slots, bounds }) => ({ slots: slots.flatMap(timeOf), bounds }));
  const length = wanted.end - wanted.start;
  const starts = group
    .slice(0, 1)
    .flatMap(({ slots, bounds }) => slots.flatMap((slot) => startsIn(slot, length, wanted.start, bounds)));
  return [...new Set(starts)].flatMap((start) => {
    const interval = { start, end: start + length };
    const slots = slotsAt(group, interval);
    return slots ? [{ slots, ...interval }] : [];
  });
}

/**
 * Times that might be booked instead of one that was refused, the nearest first; of two that are equally near, the earlier
 * first. The rules decide whether they can be booked (`requestFor`).
 *
 * @param groups - Schedules that are needed at once, or several groups of them to choose from
 * @param wanted - the time that was refused; it is not among the results, unless in slots that were not refused
 * @param refused - ids of the slots that were refused
 */
export function candidatesIn(
  groups: readonly (readonly Offers[])[],
  wanted: Interval,
  refused: readonly string[],
): Alternative[] {
  const distance = ({ start }: Alternative): number => Math.abs(start - wanted.start);
  const isRefused = ({ slots, start }: Alternative): boolean =>
    start === wanted.start && slots.every((id) => refused.includes(id));
  return groups
    .flatMap((group) => timesOf(group, wanted))
    .filter((one) => !isRefused(one))
    .toSorted((one, other) => distance(one) - distance(other) || one.start - other.start);
}
