import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { findResource } from '../../rows/resource-set.ts';
import { settle, withTaken } from '../../slots/settle.ts';
import { slotIdsOf } from '../../slots/slot.ts';
import { displayIssues } from '../appointment/actors.ts';
import { isHold, isPersonalOffer } from '../appointment/expiry.ts';
import { profileIssues, publisherIssues } from '../appointment/profile.ts';
import { isSameQuota, type Quota, quotaIssues } from '../policy/quota.ts';
import {
  answersReferredTo,
  questionnaireResponseIssues,
  unreadableResponseIssues,
} from '../request/supporting-information.ts';
import { applyPolicy } from './apply-policy.ts';
import {
  type BookingCalendar,
  type BookingDecision,
  buffersOf,
  type PreparedAppointment,
  settling,
  timeAround,
} from './booking-calendar.ts';
import { patientsIn } from './resolve-participants.ts';
import { isForSamePatient, sizeIssues } from './resubmit.ts';
import { granularityIssues, longestIssues, selectSlots, slotIssues } from './select-slots.ts';
import { payerKindIssues, serviceTypeIssues } from './service-type.ts';

type Rule = (decision: BookingDecision) => readonly Issue[];

const statusRule: Rule = ({
  request: {
    appointment: { value, path },
  },
}) => {
  if (value.status === undefined || value.status === 'proposed') {
    return [];
  }
  const diagnostics = `An appointment to book must have the status proposed, not ${value.status}.`;
  return [{ code: 'status-not-proposed', diagnostics, expression: `${path}.status` }];
};

const timeRule: Rule = ({ request: { appointment, interval }, context: { now } }) => {
  const { value, path } = appointment;
  const start = parseInstant(value.start);
  const issues: Issue[] = [];
  if (!interval && start !== undefined && parseInstant(value.end) !== undefined) {
    const diagnostics = `The end ${value.end} must be later than the start ${value.start}.`;
    issues.push({ code: 'period-invalid', diagnostics, expression: `${path}.end` });
  }
  if (start !== undefined && start <= now) {
    const diagnostics = `The start ${value.start} must be in the future; it is ${formatInstant(now)} now.`;
    issues.push({ code: 'start-in-past', diagnostics, expression: `${path}.start` });
  }
  return issues;
};

/** QuestionnaireResponses that are already attached stay, readable or not. */
const answersRule: Rule = ({ request: { appointment }, earlier, state, context: { config } }) => {
  const attached = new Set(answersReferredTo(earlier.previous ?? {}, config.baseUrl).map(({ id }) => id));
  const named = answersReferredTo(appointment.value, config.baseUrl, appointment.path);
  return unreadableResponseIssues(
    named.filter(({ id }) => !attached.has(id)),
    state,
  );
};

/** A caller that can read the named appointment must also be allowed to change it. */
const rightsRule: Rule = ({ request: { appointment }, earlier: { previous }, state }) => {
  const { value, path } = appointment;
  const isSeen = value.id !== undefined && !previous && findResource(state, 'Appointment', value.id) !== undefined;
  const diagnostics = `Your AccessPolicy does not let you change Appointment/${value.id}, or not all of it.`;
  return isSeen ? [{ code: 'transition-not-allowed', diagnostics, expression: `${path}.id` }] : [];
};

const growthRule: Rule = ({ request: { appointment }, earlier: { previous } }) =>
  previous ? sizeIssues(appointment, previous) : [];

/** A re-submission that does not name its service type keeps the stored one. */
const publisherRule: Rule = ({ request: { appointment }, earlier: { previous }, context }) => {
  const kept = previous?.serviceType && { serviceType: previous.serviceType };
  return publisherIssues({ ...appointment, value: { ...kept, ...appointment.value } }, context.config);
};

/**
 * Every participant needs a display if the profile demands it. If the service knows no name, the request must give it.
 */
const displayRule: Rule = ({ request: { appointment, participants }, resolved, context: { config } }) =>
  config.appointmentRules?.needsDisplay
    ? displayIssues(resolved.participants.slice(0, participants.length), appointment.path)
    : [];

/**
 * An assistant may only request a personal offer for one patient who can be asked for consent. It may not move or
 * replace appointments.
 */
const assistantRule: Rule = ({ resolved, state, request: { appointment, replaced }, earlier, context }) => {
  const { offer, config } = context;
  if (offer?.reason !== 'assistant') {
    return [];
  }
  const expression = `${appointment.path}.participant`;
  const reference = resolved.patient?.reference ?? '';
  const created = resolved.entries.find(({ fullUrl }) => fullUrl === reference)?.resource;
  const patient = created ?? state.get(reference);
  const isReached =
    resolved.participants.length === 1 && isResource(patient, 'Patient') && offer.canAsk?.(patient) === true;
  const closed = earlier.previous && !isHold(earlier.previous, config) ? [earlier.previous] : [];
  return [
    ...(isReached || resolved.issues.length > 0
      ? []
      : [
          {
            code: 'person-unreachable',
            diagnostics:
              'An assistant books when the person has agreed, and this person cannot be asked: messages are not switched on here, or the person has no address that the clinic can write to, or wants no messages. Ask for another address, or let the person call the clinic.',
            expression,
          } as const,
        ]),
    ...[...closed, ...replaced].map(
      () =>
        ({
          code: 'transition-not-allowed',
          diagnostics: 'An assistant asks for a time that it holds. It does not move or replace appointments.',
          expression: `${appointment.path}.id`,
        }) as const,
    ),
  ];
};

/** A personal offer is accepted unchanged: the time and the person are the clinic's choice. */
const offerRule: Rule = ({ request, earlier: { previous }, resolved, context: { config } }) => {
  if (!previous || !isPersonalOffer(previous, config)) {
    return [];
  }
  const { appointment, interval, slots } = request;
  const time = { start: parseInstant(previous.start), end: parseInstant(previous.end) };
  const isAtItsTime = !interval || (interval.start === time.start && interval.end === time.end);
  const offered = new Set(slotIdsOf(previous));
  const isAsOffered = isAtItsTime && slots.every(({ value }) => offered.has(value));
  const advice = 'To book something else, decline the offer and send a new appointment.';
  const times = `The offer is for ${previous.start} to ${previous.end}, in the Slots that it names. ${advice}`;
  return [
    ...(isAsOffered
      ? []
      : [{ code: 'slot-mismatch', diagnostics: times, expression: `${appointment.path}.slot` } as const]),
    ...(isForSamePatient(resolved.participants, previous)
      ? []
      : [
          {
            code: 'patient-mismatch',
            diagnostics: `The offer is for one person only. ${advice}`,
            expression: `${appointment.path}.participant`,
          } as const,
        ]),
  ];
};

/** The rules of the first and second reading, in the order in which their issues are reported. */
const rules: readonly Rule[] = [
  statusRule,
  timeRule,
  ({ request, context }) => profileIssues(request.appointment, context.config),
  publisherRule,
  displayRule,
  answersRule,
  growthRule,
  rightsRule,
  ({ earlier }) => earlier.issues,
  offerRule,
  assistantRule,
  slotIssues,
  ({ request, selected, state }) => serviceTypeIssues(request, selected.slots, state),
  ({ resolved }) => resolved.issues,
  ({ request }) => request.answers.flatMap(questionnaireResponseIssues),
];

/** The policies bind requestors, not staff. */
function policyRules(decision: BookingDecision, isCounted: boolean): readonly Issue[] {
  const { request, result: policyResult, known, context, counted } = decision;
  if (known.role !== 'requestor') {
    return [];
  }
  const path = `${request.appointment.path}.start`;
  const stayingIds = decision.earlier.staying.flatMap(({ id }) => id ?? []);
  const own = [...decision.rewritten, ...(context.offer?.for ?? []), ...stayingIds];
  const ahead = (quota: Quota): number =>
    counted.filter((quotas) => quotas.some((one) => isSameQuota(one, quota, context.config))).length;
  return [
    ...longestIssues(decision),
    ...payerKindIssues(decision),
    ...policyResult.issues,
    ...(isCounted ? quotaIssues(policyResult.quotas, known.usage ?? new Map(), own, path, context, ahead) : []),
  ];
}

/** The issues of a booking apart from limits. The second reading may resolve issues of slots. */
const issuesOf = (decision: BookingDecision): Issue[] => rules.flatMap((rule) => rule(decision));

/**
 * The limits that a booking exceeds.
 * @param isCounted - whether quotas count: they are not reported beside other issues
 */
export const limitIssues = (decision: BookingDecision, isCounted: boolean): Issue[] => [
  ...granularityIssues(decision),
  ...policyRules(decision, isCounted),
];

/**
 * Decides about one appointment in a calendar.
 * @returns its slots, and all issues that do not depend on limits (`limitIssues`)
 * @see specification sections 3 and 4.4
 */
export function decide(
  appointment: PreparedAppointment,
  calendar: BookingCalendar,
): BookingDecision & { readonly issues: readonly Issue[] } {
  const { request, state, earlier, resolved, context } = appointment;
  const selected = selectSlots(request, state, calendar);
  const result = applyPolicy(request, earlier, patientsIn(resolved, { request, state, ...context }), state, context);
  const decision = { ...appointment, ...calendar, selected, result };
  return { ...decision, issues: issuesOf(decision) };
}

/**
 * The calendar for the next appointment of the request. This one has taken its time without buffers: those between
 * appointments of one request count once.
 */
export function calendarAfter(decision: BookingDecision): BookingCalendar {
  const { stored, reserved, calendar, rewritten, taken, counted, selected, request } = decision;
  const { interval } = request;
  const ids = selected.slots.map(({ id }) => id);
  const buffers = buffersOf(decision);
  const own = selected.slots.map((slot) => ({
    ...slot,
    ...timeAround(interval ?? { start: 0, end: 0 }, slot, buffers),
  }));
  return {
    stored,
    reserved,
    calendar:
      interval && ids.length > 0
        ? settle(calendar, withTaken(calendar, ids, interval, 'busy'), { ...settling(decision), stored })
        : calendar,
    rewritten,
    taken: [...taken, ...own],
    counted: [...counted, decision.result.quotas],
  };
}
