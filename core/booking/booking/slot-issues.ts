import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { scheduleOf } from '../../rows/resource-set.ts';
import { isReserved } from '../../slots/reservation.ts';
import { type CalendarSlot, occupies, takesTimeOf } from '../../slots/slot.ts';
import { type Granularity, granularityOf, isOnStep, splits } from '../../slots/terms.ts';
import { overlaps } from '../../time/interval.ts';
import {
  type BookingDecision,
  buffersOf,
  calendarAt,
  ownEnding,
  slotsConcerned,
  timeAround,
} from './booking-calendar.ts';

function pathOf({ id }: CalendarSlot, { request: { slots, schedule, appointment } }: BookingDecision): string {
  return slots.find(({ value }) => value === id)?.path ?? schedule?.path ?? `${appointment.path}.slot`;
}

/** Refuses time, buffers included, that is taken or reserved by others although the selected Slots are free. */
function takenTimeIssues(decision: BookingDecision): Issue[] {
  const { request, calendar, state, reserved, taken: before } = decision;
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
      before.find((other) => overlaps(other, interval) && takesTimeOf(other, slot, services));
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
