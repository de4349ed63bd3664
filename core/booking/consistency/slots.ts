import type { Appointment, Slot } from '@medplum/fhirtypes';
import { placedSlots, isTaken as takesTime } from '../../calendar/slots/slot-role.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { type Interval, overlaps } from '../../time/interval.ts';
import { isTaken, slotIdsOf } from '../appointment/slot-use.ts';
import { holdsSlots } from '../appointment/status.ts';
import { type ResourceSet, resourcesOfType } from '../resource-set.ts';
import { type CalendarSlot, calendarOf } from '../slots/calendar.ts';
import { type ConsistencyContext, type Finding, finding, isByService, keyOf } from './finding.ts';

type Holders = ReadonlyMap<string, readonly Appointment[]>;

function holdersOf(state: ResourceSet): Holders {
  const holders = new Map<string, Appointment[]>();
  for (const appointment of resourcesOfType(state, 'Appointment').filter(holdsSlots)) {
    for (const id of slotIdsOf(appointment)) {
      holders.set(id, [...(holders.get(id) ?? []), appointment]);
    }
  }
  return holders;
}

/**
 * Whether the service took a slot, not the clinic: a Bot has written it. Where Medplum does not show the author, a slot
 * counts as taken by the service if it was split off from another one.
 */
function isTakenByService(slot: Slot, context: ConsistencyContext): boolean {
  const isFragment = slot.identifier?.some(({ system }) => system === context.originSystem) ?? false;
  return isByService(slot, context) ?? isFragment;
}

/** How many are named in one finding at most. */
const MOST_NAMED = 5;

function listed(keys: readonly string[]): string {
  const more = keys.length > MOST_NAMED ? [`${keys.length - MOST_NAMED} more`] : [];
  return [...keys.slice(0, MOST_NAMED), ...more].join(' and ');
}

function issuesOfSlot(slot: Slot, holders: Holders, state: ResourceSet, context: ConsistencyContext): Finding[] {
  const appointments = holders.get(slot.id ?? '') ?? [];
  const schedule = idIn(slot.schedule, 'Schedule');
  const key = keyOf(slot);
  return [
    ...(isTaken(slot.status) && appointments.length === 0 && isTakenByService(slot, context)
      ? [finding('slot-without-appointment', key, `It is ${slot.status}, but no appointment holds it.`)]
      : []),
    ...(appointments.length > 1
      ? [finding('slot-held-twice', key, `It is held by ${listed(appointments.map(keyOf))}.`)]
      : []),
    ...(schedule && !state.has(`Schedule/${schedule}`)
      ? [finding('reference-missing', key, `It refers to Schedule/${schedule}, which does not exist.`)]
      : []),
  ];
}

const show = ({ start, end }: Interval): string => `${formatInstant(start)} – ${formatInstant(end)}`;

/** The stretches between the fragments, and before and after them as far as the whole is known. */
function gaps(fragments: readonly CalendarSlot[], whole: Interval | undefined): Interval[] {
  const found: Interval[] = [];
  let reached = Math.min(whole?.start ?? Number.POSITIVE_INFINITY, fragments[0]?.start ?? Number.POSITIVE_INFINITY);
  for (const { start, end } of fragments) {
    if (start > reached) {
      found.push({ start: reached, end: start });
    }
    reached = Math.max(reached, end);
  }
  return whole && reached < whole.end ? [...found, { start: reached, end: whole.end }] : found;
}

/** What takes the time of each Schedule without having been offered: slots are narrowed to the time that it leaves. */
function takingsOf(state: ResourceSet, { config, offered = new Set() }: ConsistencyContext) {
  const placed = placedSlots(resourcesOfType(state, 'Slot'), offered, config);
  const takings = placed.filter(({ role, resource }) => role.kind === 'taking' && takesTime(resource));
  return Map.groupBy(takings, ({ resource }) => resource.schedule.reference);
}

function issuesOfFragments(
  origin: string,
  fragments: readonly CalendarSlot[],
  takings: readonly Interval[],
  { stretches }: ConsistencyContext,
): Finding[] {
  const sorted = [...fragments].sort((one, other) => one.start - other.start);
  const doubled = sorted.filter((fragment, index) =>
    sorted.slice(0, index).some((earlier) => overlaps(earlier, fragment)),
  );
  return [
    ...doubled.map((fragment) => {
      const diagnostics = `${show(fragment)} overlaps another fragment of the former Slot/${origin}.`;
      return finding('fragments-overlap', `Slot/${fragment.id}`, diagnostics);
    }),
    ...gaps(sorted, stretches?.get(origin))
      .filter((gap) => !takings.some((taking) => overlaps(taking, gap)))
      .map((gap) =>
        finding('fragments-missing', `Slot/${origin}`, `${show(gap)} is no longer covered by any of its fragments.`),
      ),
  ];
}

/**
 * Checks every slot: one that the service has taken must be held by one appointment, and the fragments of what was one slot
 * must follow one another without an overlap, and without a gap except for time that something else takes. Fragments that
 * were joined to others and are void do not count.
 */
export function issuesOfSlots(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const holders = holdersOf(state);
  const takings = takingsOf(state, context);
  const slots = resourcesOfType(state, 'Slot');
  const valid = [...calendarOf(slots, context.originSystem).values()].filter(
    ({ status }) => status !== 'entered-in-error',
  );
  return [
    ...slots.flatMap((slot) => issuesOfSlot(slot, holders, state, context)),
    ...[...Map.groupBy(valid, ({ origin }) => origin)].flatMap(([origin, fragments]) =>
      issuesOfFragments(origin, fragments, takings.get(fragments[0]?.resource.schedule.reference) ?? [], context),
    ),
  ];
}
