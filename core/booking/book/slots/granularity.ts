import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { type Granularity, granularityOf } from '../../../slots/terms.ts';
import { scheduleOf } from '../../resource-set.ts';
import { offeredServicesOf } from '../knowledge.ts';
import type { Situation } from '../situation.ts';

const MINUTE = 60_000;

type Slot = Situation['selected']['slots'][number];

function granularityFor({ resource }: Slot, { state, known, context }: Situation): Granularity {
  const schedule = scheduleOf(state, resource);
  return granularityOf(schedule, schedule ? offeredServicesOf(schedule, state, known) : [], context.config);
}

/**
 * The longest appointment that a requestor can book in a slot: that of its services, or what their policy allows. Several
 * slots that are named one by one are as long as they are.
 */
function longestIn(slot: Slot, situation: Situation): number {
  const { request, selected, verdict } = situation;
  const { longest = Number.POSITIVE_INFINITY } = granularityFor(slot, situation);
  const ofSchedule = selected.slots.filter(({ schedule }) => schedule === slot.schedule);
  const isOneByOne = request.slots.length > 0 && ofSchedule.length > 1;
  return isOneByOne
    ? Number.POSITIVE_INFINITY
    : Math.max(longest, ...verdict.policies.map(({ policy }) => policy.longest ?? 0));
}

/** A booking that is longer than a requestor may book; clinic staff may. */
export function longestIssues(situation: Situation): Issue[] {
  const { appointment, interval } = situation.request;
  const { start = 0, end = 0 } = interval ?? {};
  const longest = Math.min(...situation.selected.slots.map((slot) => longestIn(slot, situation)));
  const diagnostics = `Appointments here last at most ${longest / MINUTE} minutes: send an earlier end, or name each of several slots.`;
  return end - start > longest ? [{ code: 'period-invalid', diagnostics, expression: `${appointment.path}.end` }] : [];
}

/**
 * Checks that a booking leaves time that others can book. One that takes whole slots always does. One that takes a part of a
 * slot must be at least as long as the shortest appointment, and must begin and end at an end of the slot or a whole number
 * of steps after its start. Both lengths come from the scheduling parameters `duration` and `alignmentInterval` of the
 * Schedule, else of its services, else from `smallestBooking`.
 *
 * @returns `period-invalid` for what does not fit, once for `start` and once for `end`
 */
export function granularityIssues(situation: Situation): Issue[] {
  const { appointment, interval } = situation.request;
  const found = new Map<string, Issue>();
  const report = (element: 'start' | 'end', diagnostics: string): void => {
    const expression = `${appointment.path}.${element}`;
    found.set(expression, found.get(expression) ?? { code: 'period-invalid', diagnostics, expression });
  };
  for (const slot of interval ? situation.selected.slots : []) {
    const { start = 0, end = 0 } = interval ?? {};
    const isSplit = (start > slot.start && start < slot.end) || (end > slot.start && end < slot.end);
    const { shortest, step } = granularityFor(slot, situation);
    const isOnStep = (moment: number): boolean =>
      moment <= slot.start || moment >= slot.end || (moment - slot.start) % step === 0;
    if (isSplit && end - start < shortest) {
      report('end', `Appointments here last at least ${shortest / MINUTE} minutes.`);
    }
    for (const element of ['start', 'end'] as const) {
      if (!isOnStep(element === 'start' ? start : end)) {
        report(element, `Slot/${slot.id} can only be split in steps of ${step / MINUTE} minutes from its start.`);
      }
    }
  }
  return [...found.values()];
}
