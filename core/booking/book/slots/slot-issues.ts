import { isWithheld } from '../../../calendar/slots/withhold.ts';
import { formatInstant } from '../../../fhir/instant.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { takenTime } from '../../slots/takings.ts';
import { buffersOf, givenBackBy, ownEnding, type Situation, slotsConcerned, timesAround } from '../situation.ts';

/** Time that others have taken in Medplum: by its own scheduling, by hand, by an import. Slots over it may still be free. */
function takenTimeIssues(situation: Situation): Issue[] {
  const { request, state, known, context } = situation;
  const { appointment, slots: named, schedule, interval } = request;
  if (!interval) {
    return [];
  }
  const { config } = context;
  const offered = new Set([...(context.offered ?? []), ...(known.around?.offered ?? [])]);
  const seen = new Map([...(known.around?.slots ?? []), ...state]);
  const services = appointment.value.serviceType;
  const around = timesAround(interval, buffersOf(situation));
  const wanted = { interval, around, slots: slotsConcerned(situation), services, givenBack: givenBackBy(situation) };
  return takenTime(wanted, seen, offered, config).map(({ taken, from }) => ({
    code: 'slot-not-free',
    diagnostics: `The time from ${formatInstant(taken.start)} to ${formatInstant(taken.end)} is taken; search for another one.`,
    expression: named.find(({ value }) => value === from.id)?.path ?? schedule?.path ?? `${appointment.path}.slot`,
  }));
}

/** Free slots that something is taking at this moment (`planTaking`). */
function withheldIssues(situation: Situation): Issue[] {
  const { request, context } = situation;
  const { interval } = request;
  const withheld = slotsConcerned(situation).filter(
    ({ status, resource }) =>
      status === 'free' && interval && isWithheld(resource, interval, context.now, context.config),
  );
  return withheld.map(({ id }) => ({
    code: 'slot-not-free',
    diagnostics: `The time of Slot/${id} is being taken at this moment; search for another one.`,
    expression:
      request.slots.find(({ value }) => value === id)?.path ??
      request.schedule?.path ??
      `${request.appointment.path}.slot`,
  }));
}

const uniqueByElement = (issues: readonly Issue[]): Issue[] => [
  ...new Map(issues.toReversed().map((issue) => [issue.expression, issue])).values(),
];

/**
 * Problems of the slots. If a narrowed slot lost its time to a booking, only the taken time is reported. A caller whose hold
 * or request has ended is told so, which says more than that the slot is taken.
 */
export function slotIssues(situation: Situation): Issue[] {
  const taken = uniqueByElement([...takenTimeIssues(situation), ...withheldIssues(situation)]);
  const { issues } = situation.selected;
  const own = taken.length > 0 ? issues.filter(({ code }) => code !== 'slot-mismatch') : issues;
  const all = [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
  const ending = ownEnding(situation);
  return all.map((issue) =>
    ending && issue.code === 'slot-not-free' ? { ...issue, code: ending.code, diagnostics: ending.taken } : issue,
  );
}
