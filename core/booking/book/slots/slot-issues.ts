import { formatInstant } from '../../../fhir/instant.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { isWithheld } from '../../../slots/intent.ts';
import { type CalendarSlot, occupies, takesTimeOf } from '../../../slots/slot.ts';
import { overlaps } from '../../../time/interval.ts';
import { scheduleOf } from '../../resource-set.ts';
import { buffersOf, ownEnding, type Situation, slotsConcerned, timeAround } from '../situation.ts';

/** Where a request names a slot, or the Schedule in which it was found. */
function pathOf({ id }: CalendarSlot, { request: { slots, schedule, appointment } }: Situation): string {
  return slots.find(({ value }) => value === id)?.path ?? schedule?.path ?? `${appointment.path}.slot`;
}

/**
 * Time of the booking, buffers included, that others have taken or are about to take, although the Slots that it is to be
 * taken from are free.
 */
function takenTimeIssues(situation: Situation): Issue[] {
  const { request, calendar, state, context } = situation;
  const { interval } = request;
  if (!interval) {
    return [];
  }
  const { now, config } = context;
  const [wanted, buffers] = [slotsConcerned(situation), buffersOf(situation)];
  const own = new Set(wanted.map(({ id }) => id));
  const others = [...calendar.values()].filter((slot) => occupies(slot) && !own.has(slot.id));
  return wanted.flatMap((slot): Issue[] => {
    const around = timeAround(interval, slot, buffers);
    const types = request.appointment.value.serviceType;
    const services = types?.length ? types : (slot.services ?? scheduleOf(state, slot.resource)?.serviceType);
    const taken =
      others.find((other) => overlaps(other, around) && takesTimeOf(other, slot, services)) ??
      buffersBefore(situation).find((other) => overlaps(other, interval) && takesTimeOf(other, slot, services));
    const expression = pathOf(slot, situation);
    if (taken) {
      const diagnostics = `The time from ${formatInstant(taken.start)} to ${formatInstant(taken.end)} is taken; search for another one.`;
      return [{ code: 'slot-not-free', diagnostics, expression }];
    }
    const diagnostics = `The time of Slot/${slot.id} is being taken at this moment; search for another one.`;
    return slot.status === 'free' && isWithheld(slot, around, now, config)
      ? [{ code: 'slot-not-free', diagnostics, expression }]
      : [];
  });
}

/** The slots of the appointments that come before in the same request, each with its buffers. */
function buffersBefore({ before }: Situation): CalendarSlot[] {
  return before.flatMap((one) => {
    const buffers = buffersOf(one);
    const time = one.request.interval ?? { start: 0, end: 0 };
    return one.selected.slots.map((slot) => ({ ...slot, ...timeAround(time, slot, buffers) }));
  });
}

const uniqueByElement = (issues: readonly Issue[]): Issue[] => [
  ...new Map(issues.toReversed().map((issue) => [issue.expression, issue])).values(),
];

/**
 * Problems of the slots. If a narrowed slot lost its time to a booking, only the taken time is reported. A caller whose hold
 * or request has ended is told so, which says more than that the slot is taken.
 */
export function slotIssues(situation: Situation): Issue[] {
  const taken = uniqueByElement(takenTimeIssues(situation));
  const { issues } = situation.selected;
  const own = taken.length > 0 ? issues.filter(({ code }) => code !== 'slot-mismatch') : issues;
  const all = [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
  const ending = ownEnding(situation);
  return all.map((issue) =>
    ending && issue.code === 'slot-not-free' ? { ...issue, code: ending.code, diagnostics: ending.taken } : issue,
  );
}
