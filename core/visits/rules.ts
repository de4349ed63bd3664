import type { Appointment } from '@medplum/fhirtypes';
import { isHold, isOpenOffer, isPersonalOffer } from '../booking/appointment/expiry.ts';
import { calendarAt, type Situation } from '../booking/booking/situation.ts';
import { parseInstant, timeOf } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { type ResourceSet, scheduleOf, schedulesOfSlots } from '../rows/resource-set.ts';
import { slotIdsOf } from '../slots/slot.ts';
import { servicesFor } from '../slots/terms.ts';
import { STAYS, type StepTaken, stepsWith, unknownSteps, visitIssues } from './check.ts';
import { isByItself, otherAppointmentsOf, visitOf, wasHeld } from './group.ts';
import { isVisit, type StepMark, stepOf, type Visit } from './visit.ts';

/** The decision about one appointment of a request, which may be a step of a visit. */
export interface Step extends Situation {
  /** Which step it is to be, or is. */
  readonly mark: StepMark | undefined;
  /** The services that say what visits need, as far as they were read. */
  readonly visits: ResourceSet | undefined;
}

const mismatch = (diagnostics: string, expression: string): Issue => ({
  code: 'visit-mismatch',
  diagnostics,
  expression,
});

const list = (appointments: readonly Appointment[]): string =>
  appointments.map(({ id }) => `Appointment/${id}`).join(', ');

/** The service whose visits take several appointments, if one of these alone is booked without being a step of one. */
function visitMissed(situation: Step): string | undefined {
  const { mark, earlier, selected, request, context } = situation;
  if (mark || earlier.previous || context.offer) {
    return undefined;
  }
  const types = request.appointment.value.serviceType ?? [];
  const asking = selected.slots.flatMap((slot) => {
    const services = calendarAt(slot, situation)?.services ?? [];
    const meant = servicesFor(slot, types.length > 0 ? types : (slot.services ?? []), services, context.config);
    return meant.length > 0 && meant.every((storedService) => isVisit(storedService, context.config)) ? meant : [];
  });
  return asking[0]?.id;
}

/** Whether the rules of visits may concern an appointment. */
export const mayBeVisit = (situation: Step): boolean =>
  situation.mark !== undefined || situation.earlier.besides.length > 0 || visitMissed(situation) !== undefined;

function missedIssues(situation: Step): Issue[] {
  const service = visitMissed(situation);
  const diagnostics = `HealthcareService/${service} takes several appointments: book all of a proposal of $find in one request.`;
  return service ? [mismatch(diagnostics, `${situation.request.appointment.path}.extension`)] : [];
}

/** Those booked together with the moved ones that the request leaves where they are. */
function staying(situations: readonly Step[]): Appointment[] {
  const found = situations.flatMap(({ earlier, state, visits, context: { now, config }, rewritten }) =>
    [earlier.previous, earlier.replaced].flatMap((appointment) =>
      appointment && (appointment === earlier.previous || isByItself(appointment, visits, config))
        ? otherAppointmentsOf(appointment, state, now, config).filter(({ id = '' }) => !rewritten.includes(id))
        : [],
    ),
  );
  return [...new Map(found.map((appointment) => [appointment.id, appointment])).values()];
}

/**
 * What is still to come of a visit is moved as a whole unless its service says otherwise; what is offered together is taken
 * together.
 */
function wholeIssues(situations: readonly Step[]): Issue[] {
  const left = staying(situations).filter((appointment) =>
    situations.every(({ context }) => !wasHeld(appointment, context.now)),
  );
  return situations.flatMap(({ request, earlier: { previous, replaced, besides }, visits, context: { config } }) => {
    const isTaken = previous !== undefined && isPersonalOffer(previous, config);
    const isNamed = (id: string | undefined): boolean => request.replaced.some(({ value }) => value === id);
    const isLeft = previous && left.length > 0 && (isTaken || !isByItself(previous, visits, config));
    const what = isTaken ? 'is one of several that are offered together' : 'is a step of a visit that moves as a whole';
    const moved = `Appointment/${previous?.id} ${what}: send ${list(left)} with it.`;
    const ended = `Appointment/${replaced?.id} is one of several of a visit (${list(besides)}): replace it by all appointments of another.`;
    return [
      ...(isLeft ? [mismatch(moved, `${request.appointment.path}.id`)] : []),
      ...(replaced && besides.some(({ id }) => !isNamed(id)) && situations.length === 1 && !isTaken
        ? [mismatch(ended, request.replaced[0]?.path ?? request.appointment.path)]
        : []),
    ];
  });
}

function takenBy(situations: readonly Step[]): StepTaken[] {
  return situations.flatMap(({ mark, request: { interval, appointment }, selected, state }) => {
    const schedules = [...new Set(selected.slots.flatMap(({ resource }) => scheduleOf(state, resource) ?? []))];
    return mark && interval ? [{ ...interval, step: mark.step, schedules, path: appointment.path }] : [];
  });
}

function takenByStaying(appointments: readonly Appointment[], { state, context: { config } }: Step): StepTaken[] {
  return appointments.flatMap((appointment) => {
    const [time, mark] = [timeOf(appointment), stepOf(appointment, config)];
    return mark && time
      ? [{ ...time, step: mark.step, schedules: schedulesOfSlots(slotIdsOf(appointment), state), path: STAYS }]
      : [];
  });
}

/**
 * What stays of the visit, and decides where the others can be moved: what is booked, not what is only held with them. Of a
 * series that is what is still to come, unless more than stays is moved: then the rest are exceptions, which stay as they are.
 */
function deciding({ series, service }: Visit, situations: readonly Step[], { context }: Step): Appointment[] {
  const { now, config } = context;
  const left = staying(situations).filter(
    (appointment) => stepOf(appointment, config)?.service === service && !isHold(appointment, config),
  );
  const coming = left.filter((appointment) => !wasHeld(appointment, now));
  return !series ? left : coming.length < situations.length ? [] : coming;
}

/** Order, gaps, lengths and pools: of all that is booked and, on a move, of what stays. */
function stepIssues(visit: Visit, situations: readonly Step[], first: Step): Issue[] {
  const left = deciding(visit, situations, first);
  // What stays comes first: of two appointments for one step the other is wrong.
  const taken = [...takenByStaying(left, first), ...takenBy(situations)];
  const { config } = first.context;
  const isMove =
    left.length > 0 || situations.every(({ earlier: { previous } }) => previous && !isHold(previous, config));
  const isThere = (name: string): boolean => taken.some(({ step }) => step === name);
  // What the clinic has taken out of a visit is not missing when the rest moves.
  const asked = isMove ? { ...visit, steps: stepsWith(visit.steps, isThere) } : visit;
  // Nor does a step that the clinic has renamed or taken away keep its appointment where it is: no rule is left for it.
  const named = situations.flatMap(({ earlier: { previous } }) => (previous && stepOf(previous, config)?.step) ?? []);
  const former = isMove ? unknownSteps(visit, named) : [];
  const validated = taken.filter(({ step }) => !former.includes(step));
  const { path } = first.request.appointment;
  const root = path.startsWith('Parameters') ? 'Parameters.parameter' : path;
  return visitIssues(asked, validated, config.timeZone, root).flatMap((issue) => {
    const at = issue.expression ?? '';
    // What stays is right where it is; only its distance from what moves can be wrong.
    return at.startsWith(STAYS)
      ? at === `${STAYS}.start`
        ? [{ ...issue, expression: `${path}.start` }]
        : []
      : [issue];
  });
}

function marksIssues(situations: readonly Step[]): Issue[] {
  const [first] = situations.filter(({ mark }) => mark);
  if (!first?.mark) {
    return [];
  }
  const { service } = first.mark;
  const strays = situations.filter(({ mark }) => mark?.service !== service);
  if (strays.length > 0) {
    return strays.map(({ request: { appointment } }) =>
      mismatch('The appointments of one request must be steps of one visit.', `${appointment.path}.extension`),
    );
  }
  const visit = visitOf(service, first.visits, first.context.config);
  if (!visit) {
    const isOld = situations.every(({ earlier: { previous } }) => previous);
    const diagnostics = `HealthcareService/${service} asks for no visit that can be booked.`;
    return isOld ? [] : [mismatch(diagnostics, `${first.request.appointment.path}.extension`)];
  }
  return situations.every(({ selected }) => selected.slots.length > 0) ? stepIssues(visit, situations, first) : [];
}

/** Whether somebody takes what the service offers, as it is: it was made to fit. */
function isAccepting({ request: { interval, slots }, earlier: { previous }, context }: Step): boolean {
  const isStanding = previous !== undefined && isOpenOffer(previous, context.now, context.config);
  const ids = previous ? slotIdsOf(previous) : [];
  const isSame = slots.length === ids.length && slots.every(({ value }) => ids.includes(value));
  return isStanding && isSame && interval?.start === parseInstant(previous.start);
}

/** What is wrong with the appointments of a requestor as visits; staff may book and move what they like. */
export function visitRuleIssues(situations: readonly Step[]): Issue[] {
  const [first] = situations;
  if (first?.known.role !== 'requestor' || first.context.offer) {
    return [];
  }
  const whole = wholeIssues(situations);
  return situations.every(isAccepting)
    ? whole
    : [...situations.flatMap(missedIssues), ...whole, ...marksIssues(situations)];
}
