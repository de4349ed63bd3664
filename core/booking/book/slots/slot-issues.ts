import { formatInstant } from '../../../fhir/instant.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { slotIdsOf } from '../../appointment/slot-use.ts';
import { takenTime } from '../../slots/takings.ts';
import { ownEnding, type Situation, slotsConcerned } from '../situation.ts';

/** Time that others have taken in Medplum: by its own scheduling, by hand, by an import. Free slots may be left of it. */
function takenTimeIssues(situation: Situation): Issue[] {
  const { request, earlier, state, context } = situation;
  const { appointment, slots: named, schedule, interval } = request;
  if (!interval) {
    return [];
  }
  const { config, offered = new Set() } = context;
  const givenBack = [...slotIdsOf(earlier.previous), ...slotIdsOf(earlier.replaced)];
  const services = appointment.value.serviceType;
  const wanted = { interval, slots: slotsConcerned(situation), services, givenBack };
  return takenTime(wanted, state, offered, config).map(({ taken, from }) => ({
    code: 'slot-not-free',
    diagnostics: `The time from ${formatInstant(taken.start)} to ${formatInstant(taken.end)} is taken; search for another one.`,
    expression: named.find(({ value }) => value === from.id)?.path ?? schedule?.path ?? `${appointment.path}.slot`,
  }));
}

/**
 * Problems of the slots. If a narrowed slot lost its time to a booking, only the taken time is reported. To one whose hold or
 * request is over it says more that it is over than that the slot is taken.
 */
export function slotIssues(situation: Situation): Issue[] {
  const taken = takenTimeIssues(situation);
  const { issues } = situation.selected;
  const own = taken.length > 0 ? issues.filter(({ code }) => code !== 'slot-mismatch') : issues;
  const all = [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
  const ending = ownEnding(situation);
  return all.map((issue) =>
    ending && issue.code === 'slot-not-free' ? { ...issue, code: ending.code, diagnostics: ending.taken } : issue,
  );
}
