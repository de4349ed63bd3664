import type { Patient, Schedule } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { findResource, type ResourceSet, schedulesOfSlots } from '../../rows/resource-set.ts';
import { slotIdsOf } from '../../slots/slot.ts';
import { endedIssues } from '../appointment/change.ts';
import { hasEnded, isHold, isOpenOffer } from '../appointment/expiry.ts';
import { policyIssues } from '../policy/judge.ts';
import { type EffectivePolicy, effectivePolicy } from '../policy/policy.ts';
import { holdQuota, policyQuotas, type Quota } from '../policy/quota.ts';
import { requestorLimitIssues } from '../policy/requestor-limits.ts';
import type { AppointmentRequest } from '../request/request.ts';
import { type BookingContext, servicesOf } from './knowledge.ts';
import { changedBy, type EarlierAppointments } from './reschedule.ts';

/** The Schedules that a request names, directly or through its slots, without duplicates. */
export function schedulesNamed({ slots, schedule }: AppointmentRequest, state: ResourceSet): Schedule[] {
  const named = schedulesOfSlots(
    slots.map(({ value }) => value),
    state,
  );
  const own = schedule && findResource(state, 'Schedule', schedule.value);
  return [...new Set([...named, ...(own ? [own] : [])])];
}

/** The result of applying the policies of the Schedules to a booking. */
export interface PolicyResult {
  readonly policies: readonly EffectivePolicy[];
  /** Issues that count for requestors only. */
  readonly issues: readonly Issue[];
  /** Quotas to be counted if the booking has no other issues. */
  readonly quotas: readonly Quota[];
}

/**
 * Applies the cancellation rules of the policies to an appointment that is moved or replaced, because it gives its time
 * back.
 */
function givingBackIssues(
  { previous, replaced, besides }: EarlierAppointments,
  request: AppointmentRequest,
  policiesOf: (schedules: readonly Schedule[]) => EffectivePolicy[],
  state: ResourceSet,
  { now, config }: BookingContext,
): Issue[] {
  const paths = [`${request.appointment.path}.id`, ...request.replaced.map(({ path }) => path)];
  return [previous, replaced, ...besides].flatMap((earlier, index) => {
    if (!earlier || isHold(earlier, config) || hasEnded(earlier, now, config) || earlier.status === 'cancelled') {
      return [];
    }
    const start = Date.parse(earlier.start ?? '');
    const policies = policiesOf(schedulesOfSlots(slotIdsOf(earlier), state));
    const path = paths[index] ?? paths.at(-1) ?? 'Parameters';
    const ended = endedIssues(earlier, now, path);
    return ended.length > 0 ? ended : policyIssues('cancel', policies, { start, end: start }, now, path);
  });
}

/**
 * Applies the booking policies of all Schedules concerned, and the limits of the installation.
 * @param patients - of the booking, stored or submitted with it
 */
export function applyPolicy(
  request: AppointmentRequest,
  earlier: EarlierAppointments,
  patients: readonly Patient[],
  state: ResourceSet,
  context: BookingContext,
): PolicyResult {
  const { now, config, purpose = 'book', reached = new Set() } = context;
  const { interval, appointment } = request;
  const policiesOf = (schedules: readonly Schedule[]) =>
    schedules.map((schedule) => effectivePolicy(schedule, servicesOf(schedule, state).services, config));
  const policies = policiesOf(schedulesNamed(request, state));
  if (!interval || interval.start <= now) {
    return { policies, issues: [], quotas: [] };
  }
  // A personal offer is the clinic's own choice of time, so the policies do not refuse it.
  const isOfClinic = earlier.previous !== undefined && isOpenOffer(earlier.previous, now, config);
  return {
    policies,
    issues: [
      ...(isOfClinic ? [] : policyIssues('take', policies, interval, now, `${appointment.path}.start`)),
      ...(isOfClinic ? [] : givingBackIssues(earlier, request, policiesOf, state, context)),
      ...requestorLimitIssues(reached, [...changedBy(earlier), ...earlier.staying], appointment.path, config),
    ],
    quotas: [
      ...policyQuotas(policies, interval, patients, context),
      ...(purpose === 'hold' ? [holdQuota(context)] : []),
    ],
  };
}
