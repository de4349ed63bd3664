import { holdersOf } from '../booking/appointment/reads.ts';
import { formatInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { isBuffer, isOverbooking } from '../fhir/scheduling/slot-marks.ts';
import { type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { bufferOf, type CalendarSlot, calendarOf, isBooked, isInEveryLane, isTaken, slotIdsOf } from '../slots/slot.ts';
import { overlaps } from '../time/interval.ts';
import { type ConsistencyContext, type Finding, finding, type Rule } from './finding.ts';

interface TakenSlots {
  /** External busy slots, which take the time of every lane. */
  readonly external: readonly CalendarSlot[];
  /**
   * Slots that take only their own lane: booked, held or blocked bookable slots, and external busy slots in one lane.
   */
  readonly lanes: readonly CalendarSlot[];
  readonly free: readonly CalendarSlot[];
}

function takenBySchedule(state: ResourceSet, { config }: ConsistencyContext): TakenSlots[] {
  const slots = Map.groupBy(resourcesOfType(state, 'Slot'), ({ schedule }) => idIn(schedule, 'Schedule'));
  return [...slots.values()].map((ofSchedule) => {
    const all = [...calendarOf(ofSchedule, config).values()];
    return {
      external: all.filter((slot) => isInEveryLane(slot) && isTaken(slot)),
      lanes: all.filter((slot) => slot.role !== 'ended' && !isInEveryLane(slot) && isTaken(slot)),
      free: all.filter(({ status }) => status === 'free'),
    };
  });
}

/** The ids of slots that may lie over others, because they or their appointments are marked as overbookings. */
function overbooked(state: ResourceSet, { config }: ConsistencyContext): ReadonlySet<string> {
  const appointments = resourcesOfType(state, 'Appointment').filter((appointment) =>
    isOverbooking(appointment, config),
  );
  const slots = resourcesOfType(state, 'Slot').filter((slot) => isOverbooking(slot, config));
  return new Set([...appointments.flatMap(slotIdsOf), ...slots.flatMap(({ id }) => id ?? [])]);
}

/** Whether a slot belongs to an appointment or is a buffer of one: nothing else may lie there. */
const isAppointment = (slot: CalendarSlot): boolean => isBooked(slot) || isBuffer(slot.resource);

/** The rule that two overlapping Slots break. A block may lie over another block. */
function ruleFor(slot: CalendarSlot, other: CalendarSlot): Rule | undefined {
  const [first, second] = [isBooked(slot), isBooked(other)];
  if (first ? isAppointment(other) : isAppointment(slot) && second) {
    return 'time-taken-twice';
  }
  return first || second ? 'booking-blocked' : undefined;
}

const show = ({ id, resource, start, end }: CalendarSlot): string =>
  `Slot/${id} (${resource.status}, ${formatInstant(start)} – ${formatInstant(end)})`;

/**
 * Compares external busy slots with each other and with booked ones. Past ones can no longer be corrected and are left
 * out.
 */
function doubled({ external, lanes }: TakenSlots, onPurpose: ReadonlySet<string>, now: number): Finding[] {
  const later = external.filter(({ end }) => end > now).sort((slot, other) => slot.start - other.start);
  return later.flatMap((busy, index) =>
    [...lanes, ...later.slice(0, index)].flatMap((slot) => {
      const rule = overlaps(busy, slot) ? ruleFor(busy, slot) : undefined;
      const isMeant = onPurpose.has(busy.id) || onPurpose.has(slot.id);
      return rule && !isMeant ? [finding(rule, `Slot/${busy.id}`, `It takes the same time as ${show(slot)}.`)] : [];
    }),
  );
}

/** Finds overlapping booked Slots in one lane, which has room for one appointment at a time. */
function doubledLanes({ lanes }: TakenSlots, onPurpose: ReadonlySet<string>, now: number): Finding[] {
  const published = lanes.filter((slot) => isBooked(slot) && slot.end > now);
  const byLane = Map.groupBy(published, ({ lane }) => lane);
  byLane.delete(undefined);
  return [...byLane.values()].flatMap((ofLane) => {
    const sorted = ofLane.toSorted((one, other) => one.start - other.start);
    let last: CalendarSlot | undefined;
    return sorted.flatMap((slot) => {
      const other = last;
      last = other && other.end > slot.end ? other : slot;
      const isMeant = onPurpose.has(slot.id) || (other && onPurpose.has(other.id));
      return other && overlaps(slot, other) && !isMeant
        ? [finding('time-taken-twice', `Slot/${slot.id}`, `It takes the same time as ${show(other)}.`)]
        : [];
    });
  });
}

/** Finds free Slots over external busy slots. The service should have withdrawn them within seconds. */
function freeOverTaken({ external, free }: TakenSlots, now: number): Finding[] {
  return free
    .filter(({ end }) => end > now)
    .flatMap((slot) => {
      const taken = external.find((one) => overlaps(one, slot) && isAppointment(one));
      return taken ? [finding('free-over-taken', `Slot/${slot.id}`, `It overlaps ${show(taken)}.`)] : [];
    });
}

function buffersLeftOver(state: ResourceSet, { config }: ConsistencyContext): Finding[] {
  const held = holdersOf(resourcesOfType(state, 'Appointment'));
  return resourcesOfType(state, 'Slot').flatMap((slot) => {
    const booked = bufferOf(slot, config);
    return booked === undefined || held.has(booked)
      ? []
      : [
          finding(
            'buffer-left-over',
            `Slot/${slot.id}`,
            `It is a buffer of Slot/${booked}, which no appointment holds.`,
          ),
        ];
  });
}

/** Compares the Slots that take time in each Schedule with the rest of its calendar, whoever created them. */
export function issuesOfTakenTime(state: ResourceSet, context: ConsistencyContext): Finding[] {
  const onPurpose = overbooked(state, context);
  return [
    ...takenBySchedule(state, context).flatMap((slots) => [
      ...doubled(slots, onPurpose, context.now),
      ...doubledLanes(slots, onPurpose, context.now),
      ...freeOverTaken(slots, context.now),
    ]),
    ...buffersLeftOver(state, context),
  ];
}
