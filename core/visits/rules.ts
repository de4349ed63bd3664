import type { Appointment } from '@medplum/fhirtypes';
import { isHold, isOpenOffer, isPersonalOffer } from '../booking/appointment/expiry.ts';
import { calendarAt, type Situation } from '../booking/booking/situation.ts';
import { parseInstant, timeOf } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { type ResourceSet, scheduleOf, schedulesOfSlots } from '../rows/resource-set.ts';
import { slotIdsOf } from '../slots/slot.ts';
import { servicesFor } from '../slots/terms.ts';
import { STAYS, type StepTaken, stepsWith, unknownSteps, visitIssues } from './check.ts';
import { hasBegun, isByItself, otherAppointmentsOf, visitOf } from './group.ts';
import { isVisit, type StepMark, stepOf, type Visit } from './visit.ts';

/** The decision about one appointment of a request, which may be a step of a visit. */
export interface Step extends Situation {
  /** The requested step, else the stored one. */
  readonly mark: StepMark | undefined;
  /** The services with the visit definitions, as far as they were read. */
  readonly visits: ResourceSet | undefined;
}

const mismatch = (diagnostics: string, expression: string): Issue => ({
  code: 'visit-mismatch',
  diagnostics,
  expression,
});

const list = (appointments: readonly Appointment[]): string =>
  appointments.map(({ id }) => `Appointment/${id}`).join(', ');

/** The service of a visit if one of its appointments is booked alone, without being marked as a step. */
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

/** The appointments of the visit that the request does not move. */
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
 * The future appointments of a visit are moved together unless its service allows single steps. Appointments of one
 * personal offer are accepted together.
 */
function wholeIssues(situations: readonly Step[]): Issue[] {
  const left = staying(situations).filter((appointment) =>
    situations.every(({ context }) => !hasBegun(appointment, context.now)),
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
 * The appointments of the visit that stay and restrict the times of the moved ones, without holds. Of a series, only
 * future appointments count. They do not count if they are fewer than the moved ones: then they are exceptions.
 */
function deciding({ series, service }: Visit, situations: readonly Step[], { context }: Step): Appointment[] {
  const { now, config } = context;
  const left = staying(situations).filter(
    (appointment) => stepOf(appointment, config)?.service === service && !isHold(appointment, config),
  );
  const coming = left.filter((appointment) => !hasBegun(appointment, now));
  return !series ? left : coming.length < situations.length ? [] : coming;
}

/** Checks order, gaps, lengths and pools of the requested appointments and, on a move, of those that stay. */
function stepIssues(visit: Visit, situations: readonly Step[], first: Step): Issue[] {
  const left = deciding(visit, situations, first);
  // The staying appointments come first: of two appointments for one step the moved one is at fault.
  const taken = [...takenByStaying(left, first), ...takenBy(situations)];
  const { config } = first.context;
  const isMove =
    left.length > 0 || situations.every(({ earlier: { previous } }) => previous && !isHold(previous, config));
  const isThere = (name: string): boolean => taken.some(({ step }) => step === name);
  // A step that the clinic has removed from a visit is not missing when the rest moves.
  const asked = isMove ? { ...visit, steps: stepsWith(visit.steps, isThere) } : visit;
  // A renamed or removed step can be moved, too: no rule is left for it.
  const named = situations.flatMap(({ earlier: { previous } }) => (previous && stepOf(previous, config)?.step) ?? []);
  const former = isMove ? unknownSteps(visit, named) : [];
  const validated = taken.filter(({ step }) => !former.includes(step));
  const { path } = first.request.appointment;
  const root = path.startsWith('Parameters') ? 'Parameters.parameter' : path;
  return visitIssues(asked, validated, config.timeZone, root).flatMap((issue) => {
    const at = issue.expression ?? '';
    // A staying appointment cannot be at fault; only its distance from a moved one can be.
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

/** Whether the request accepts a personal offer unchanged. The service made it to fit. */
function isAccepting({ request: { interval, slots }, earlier: { previous }, context }: Step): boolean {
  const isStanding = previous !== undefined && isOpenOffer(previous, context.now, context.config);
  const ids = previous ? slotIdsOf(previous) : [];
  const isSame = slots.length === ids.length && slots.every(({ value }) => ids.includes(value));
  return isStanding && isSame && interval?.start === parseInstant(previous.start);
}

/** Issues of a requestor's appointments as visits. Staff may book and move without these rules. */
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
