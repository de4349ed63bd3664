import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference.ts';
import { findResource, type ResourceSet, scheduleOf } from '../../rows/resource-set.ts';
import { findChain, type Mismatch, mismatches } from '../../slots/chain.ts';
import { isReserved } from '../../slots/reservation.ts';
import { type Calendar, type CalendarSlot, occupies, takesTimeOf } from '../../slots/slot.ts';
import { type Granularity, granularityOf, isOnStep, splits } from '../../slots/terms.ts';
import { type Interval, overlaps } from '../../time/interval.ts';
import { MAX_SLOTS } from '../appointment/elements.ts';
import type { Located } from '../request/parameters.ts';
import type { AppointmentRequest } from '../request/request.ts';
import {
  type BookingDecision,
  buffersOf,
  calendarAt,
  ownEnding,
  type SelectedSlots,
  slotsConcerned,
  timeAround,
} from './booking-calendar.ts';
import { MAX_FREE_SLOTS } from './reads.ts';

const mismatchSentences: Readonly<Record<Mismatch['kind'], string>> = {
  outside: 'The slot does not overlap the time of the appointment.',
  overlap: 'The slot overlaps another slot of the appointment.',
  gap: 'The slots do not cover the whole time from start to end.',
};

function scheduleIssues(state: ResourceSet, id: string, expression: string): Issue[] {
  const schedule = findResource(state, 'Schedule', id);
  if (!schedule) {
    return [{ code: 'schedule-not-found', diagnostics: `There is no Schedule/${id}.`, expression }];
  }
  return schedule.active === false
    ? [{ code: 'schedule-inactive', diagnostics: `Schedule/${id} is not open for booking.`, expression }]
    : [];
}

/** Issues of a named Slot apart from its status: it or its Schedule is not visible, invalid, inactive, or another. */
function issuesOfSlot(
  { value: id, path }: Located<string>,
  request: AppointmentRequest,
  state: ResourceSet,
  calendar: Calendar,
): Issue[] {
  const slot = findResource(state, 'Slot', id);
  if (!slot) {
    return [{ code: 'slot-not-found', diagnostics: `There is no Slot/${id}.`, expression: path }];
  }
  if (!calendar.has(id)) {
    return [{ code: 'slot-mismatch', diagnostics: `Slot/${id} has no valid start and end.`, expression: path }];
  }
  const scheduleId = idIn(slot.schedule, 'Schedule') ?? '';
  const { schedule } = request;
  const strays: Issue[] =
    schedule && schedule.value !== scheduleId
      ? [
          {
            code: 'slot-mismatch',
            diagnostics: `Slot/${id} does not belong to Schedule/${schedule.value}.`,
            expression: path,
          },
        ]
      : [];
  return [...scheduleIssues(state, scheduleId, path), ...strays];
}

type Group = readonly { readonly slot: CalendarSlot; readonly path: string }[];

function groupBySchedule(request: AppointmentRequest, calendar: Calendar): Group[] {
  const groups = new Map<string, { slot: CalendarSlot; path: string }[]>();
  for (const { value, path } of request.slots) {
    const slot = calendar.get(value);
    const key = slot?.resource.schedule.reference ?? '';
    if (slot) {
      groups.set(key, [...(groups.get(key) ?? []), { slot, path }]);
    }
  }
  return [...groups.values()];
}

const notFreeIssue = ({ slot, path }: Group[number]): Issue => ({
  code: 'slot-not-free',
  diagnostics: `Slot/${slot.id} is no longer free at this time; search for another one.`,
  expression: path,
});

/** Slots that are not free, else mismatches with the requested time. */
function groupIssues(group: Group, interval: Interval, slotPath: string): Issue[] {
  const notFree = group.filter(({ slot }) => slot.status !== 'free');
  if (notFree.length > 0) {
    return notFree.map(notFreeIssue);
  }
  return mismatches(
    group.map(({ slot }) => slot),
    interval,
  ).map((mismatch) => ({
    code: 'slot-mismatch',
    diagnostics: mismatchSentences[mismatch.kind],
    expression: group.find(({ slot }) => mismatch.kind !== 'gap' && slot.id === mismatch.id)?.path ?? slotPath,
  }));
}

/** The free fragments of named slots, which may have been split since the caller read them. */
function fragmentsOf(group: Group, calendar: Calendar): CalendarSlot[] {
  const origins = new Set(group.map(({ slot }) => slot.origin));
  return [...calendar.values()].filter(({ origin, status }) => status === 'free' && origins.has(origin));
}

/** Whether a stored slot is part of its neighbour for this booking. */
const isAbsorbed = ({ status, resource }: CalendarSlot): boolean =>
  status === 'entered-in-error' && resource.status !== status;

/** Whether the requested time lay within the named slots, and other bookings have taken part of it since. */
function isTakenByOthers(group: Group, calendar: Calendar, interval: Interval): boolean {
  const origins = new Set(group.map(({ slot }) => slot.origin));
  const parts = [...calendar.values()].filter(
    ({ origin, status }) => origins.has(origin) && status !== 'entered-in-error',
  );
  const chain = findChain(parts, interval) ?? [];
  return chain.some((part) => part.status !== 'free' && !group.some(({ slot }) => slot.id === part.id));
}

/** Selects the named slots of one Schedule or, if they were split since, the free parts that cover the time. */
function selectInGroup(group: Group, calendar: Calendar, interval: Interval, slotPath: string): SelectedSlots {
  const issues = groupIssues(group, interval, slotPath);
  if (issues.length === 0) {
    return { slots: group.map(({ slot }) => slot), issues };
  }
  const chain = findChain(fragmentsOf(group, calendar), interval) ?? [];
  const isSplit = chain.some((fragment) => !group.some(({ slot }) => slot.id === fragment.id));
  if (chain.length > 0 && (isSplit || group.some(({ slot }) => isAbsorbed(slot)))) {
    return { slots: chain, issues: [] };
  }
  const isTaken = issues.every(({ code }) => code === 'slot-mismatch') && isTakenByOthers(group, calendar, interval);
  return { slots: [], issues: isTaken ? group.map(notFreeIssue) : issues };
}

function uncoveredIssue(schedule: string, isCovered: boolean, freeSlots: number, expression: string): Issue {
  if (isCovered) {
    const diagnostics = `From start to end, Schedule/${schedule} has more than ${MAX_SLOTS} free slots, the most that one appointment can take: ask for a shorter time.`;
    return { code: 'slot-mismatch', diagnostics, expression };
  }
  if (freeSlots >= MAX_FREE_SLOTS) {
    const diagnostics = `From start to end, Schedule/${schedule} has more free slots than the ${MAX_FREE_SLOTS} that are considered: name the slots in Appointment.slot.`;
    return { code: 'slot-mismatch', diagnostics, expression };
  }
  const diagnostics = `Schedule/${schedule} has no free slots that cover the time from start to end.`;
  return { code: 'slot-not-free', diagnostics, expression };
}

function selectInSchedule(
  { value, path }: Located<string>,
  request: AppointmentRequest,
  state: ResourceSet,
  calendar: Calendar,
  reserved: readonly CalendarSlot[],
) {
  const found = scheduleIssues(state, value, path);
  if (found.length > 0 || !request.interval) {
    return { slots: [], issues: found };
  }
  const free = [...calendar.values()].filter(
    ({ status, resource }) => status === 'free' && idIn(resource.schedule, 'Schedule') === value,
  );
  const { interval } = request;
  const open = free.filter((slot) => !isReserved(slot, interval, reserved));
  const chain = findChain(open, interval) ?? findChain(free, interval);
  return chain && chain.length <= MAX_SLOTS
    ? { slots: chain, issues: [] }
    : { slots: [], issues: [uncoveredIssue(value, chain !== undefined, free.length, path)] };
}

/**
 * Selects the slots from which a booking takes its time. In each schedule, the named slots must be free and cover the
 * requested time without a gap or an overlap. If only a schedule is named, its free slots are selected: if possible
 * those that nobody else is taking.
 * @param state - the slots and schedules that the caller may see
 * @param calendar - the calendar of this booking, in which its own earlier slots are free
 * @returns the slots in order, or `slot-not-found`, `schedule-not-found`, `schedule-inactive`, `slot-mismatch`,
 *   `slot-not-free` for each slot at fault
 */
export function selectSlots(
  request: AppointmentRequest,
  state: ResourceSet,
  { calendar, reserved }: { readonly calendar: Calendar; readonly reserved: readonly CalendarSlot[] },
): SelectedSlots {
  const { slots, schedule, interval, appointment } = request;
  if (slots.length === 0) {
    return schedule ? selectInSchedule(schedule, request, state, calendar, reserved) : { slots: [], issues: [] };
  }
  const found = slots.flatMap((slot) => issuesOfSlot(slot, request, state, calendar));
  if (!interval) {
    return { slots: [], issues: found };
  }
  const groups = groupBySchedule(request, calendar).map((group) =>
    selectInGroup(group, calendar, interval, `${appointment.path}.slot`),
  );
  return {
    slots: groups.flatMap((group) => group.slots),
    issues: [...found, ...groups.flatMap((group) => group.issues)],
  };
}

function pathOf({ id }: CalendarSlot, { request: { slots, schedule, appointment } }: BookingDecision): string {
  return slots.find(({ value }) => value === id)?.path ?? schedule?.path ?? `${appointment.path}.slot`;
}

/** Refuses time, buffers included, that is taken or reserved by others although the selected Slots are free. */
function takenTimeIssues(decision: BookingDecision): Issue[] {
  const { request, calendar, state, reserved, taken: takenByRequest } = decision;
  const { interval } = request;
  if (!interval) {
    return [];
  }
  const [wanted, buffers] = [slotsConcerned(decision), buffersOf(decision)];
  const own = new Set(wanted.map(({ id }) => id));
  const others = [...calendar.values()].filter((slot) => occupies(slot) && !own.has(slot.id));
  return wanted.flatMap((slot): Issue[] => {
    const around = timeAround(interval, slot, buffers);
    const types = request.appointment.value.serviceType;
    const services = types?.length ? types : (slot.services ?? scheduleOf(state, slot.resource)?.serviceType);
    const taken =
      others.find((other) => overlaps(other, around) && takesTimeOf(other, slot, services)) ??
      takenByRequest.find((other) => overlaps(other, interval) && takesTimeOf(other, slot, services));
    const expression = pathOf(slot, decision);
    if (taken) {
      const diagnostics = `The time from ${formatInstant(taken.start)} to ${formatInstant(taken.end)} is taken; search for another one.`;
      return [{ code: 'slot-not-free', diagnostics, expression }];
    }
    const diagnostics = `The time of Slot/${slot.id} is being taken at this moment; search for another one.`;
    return slot.status === 'free' && isReserved(slot, around, reserved)
      ? [{ code: 'slot-not-free', diagnostics, expression }]
      : [];
  });
}

const uniqueByElement = (issues: readonly Issue[]): Issue[] => [
  ...new Map(issues.toReversed().map((issue) => [issue.expression, issue])).values(),
];

/**
 * Issues of the slots. If a narrowed slot lost its time to a booking, only the taken time is reported. If the caller's
 * own hold or request has expired, that is reported instead of a taken slot, because it says more.
 */
export function slotIssues(decision: BookingDecision): Issue[] {
  const taken = uniqueByElement(takenTimeIssues(decision));
  const { issues } = decision.selected;
  const own = taken.length > 0 ? issues.filter(({ code }) => code !== 'slot-mismatch') : issues;
  const all = [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
  const ending = ownEnding(decision);
  return all.map((issue) =>
    ending && issue.code === 'slot-not-free' ? { ...issue, code: ending.code, diagnostics: ending.taken } : issue,
  );
}

const MINUTE = 60_000;

type Slot = BookingDecision['selected']['slots'][number];

function granularityFor(slot: Slot, decision: BookingDecision): Granularity {
  const { schedule, services = [] } = calendarAt(slot, decision) ?? {};
  return granularityOf(schedule, services, decision.context.config);
}

/**
 * The maximum length of an appointment that a requestor can book in a slot: that of its services, or a longer one of a
 * policy. Several slots that are named one by one have no maximum.
 */
function longestIn(slot: Slot, decision: BookingDecision): number {
  const { request, selected, result: policyResult } = decision;
  const { longest = Number.POSITIVE_INFINITY } = granularityFor(slot, decision);
  const ofSchedule = selected.slots.filter(({ schedule }) => schedule === slot.schedule);
  const isOneByOne = request.slots.length > 0 && ofSchedule.length > 1;
  return isOneByOne
    ? Number.POSITIVE_INFINITY
    : Math.max(longest, ...policyResult.policies.map(({ policy }) => policy.longest ?? 0));
}

/** Refuses a booking that is longer than a requestor may book. Staff may book any length. */
export function longestIssues(decision: BookingDecision): Issue[] {
  const { appointment, interval } = decision.request;
  const { start = 0, end = 0 } = interval ?? {};
  const longest = Math.min(...decision.selected.slots.map((slot) => longestIn(slot, decision)));
  const diagnostics = `Appointments here last at most ${longest / MINUTE} minutes: send an earlier end, or name each of several slots.`;
  return end - start > longest ? [{ code: 'period-invalid', diagnostics, expression: `${appointment.path}.end` }] : [];
}

/**
 * Checks that a booking leaves time that others can book. One that takes whole slots always does. One that takes a part
 * of a slot must be at least as long as the shortest appointment, and must begin and end at an end of the slot or a
 * whole number of steps after its start. Both lengths come from the scheduling parameters `duration` and
 * `alignmentInterval` of the Schedule, else of its services, else from `smallestBooking`.
 * @returns `period-invalid`, at most once for `start` and once for `end`
 */
export function granularityIssues(decision: BookingDecision): Issue[] {
  const { appointment, interval } = decision.request;
  const found = new Map<string, Issue>();
  const report = (element: 'start' | 'end', diagnostics: string): void => {
    const expression = `${appointment.path}.${element}`;
    found.set(expression, found.get(expression) ?? { code: 'period-invalid', diagnostics, expression });
  };
  const { start = 0, end = 0 } = interval ?? {};
  for (const slot of interval ? decision.selected.slots : []) {
    const { shortest, step } = granularityFor(slot, decision);
    if (splits({ start, end }, slot) && end - start < shortest) {
      report('end', `Appointments here last at least ${shortest / MINUTE} minutes.`);
    }
    for (const element of ['start', 'end'] as const) {
      if (!isOnStep(element === 'start' ? start : end, slot, step)) {
        report(element, `Slot/${slot.id} can only be split in steps of ${step / MINUTE} minutes from its start.`);
      }
    }
  }
  return [...found.values()];
}
