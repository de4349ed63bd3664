import type { Appointment, Patient, Reference, Schedule, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { findResource, type ResourceSet, resourcesOfType, schedulesOfSlots } from '../../rows/resource-set.ts';
import type { Released } from '../../slots/entries.ts';
import { type SlotUses, slotIdsOf } from '../../slots/slot.ts';
import { type ScheduleServices, withNamedServices, withServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import { endedIssues, type Patients } from '../appointment/change.ts';
import { hasEnded, isHold, isOpenOffer, type PersonalOffer } from '../appointment/expiry.ts';
import type { Role } from '../policy/caller-rights.ts';
import { type EffectivePolicy, effectivePolicy, policyIssues } from '../policy/policy.ts';
import {
  holdQuota,
  policyQuotas,
  type Quota,
  type RequestorLimit,
  requestorLimitIssues,
  type Usage,
} from '../policy/quota.ts';
import type { AppointmentRequest, Purpose } from '../request/request.ts';
import { changedBy, type EarlierAppointments } from './reschedule.ts';

/** The context of a booking besides the request and the resources that were read. */
export interface BookingContext {
  /** The moment of the decision, in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Id of the requestor's profile in Medplum. Every resource that the booking creates is tagged with it. */
  readonly requestor: string;
  /** The same profile as a reference, with its name where Medplum gives it. */
  readonly requester?: Reference | undefined;
  readonly config: BookingConfig;
  /** Gives a fresh `urn:uuid:` for each resource that the transaction creates. */
  readonly newId: () => string;
  readonly reached?: ReadonlySet<RequestorLimit> | undefined;
  /** By default a booking. */
  readonly purpose?: Purpose | undefined;
  readonly offer?: PersonalOffer | undefined;
  /** Gives further entries where time is given back. */
  readonly onReleased?: Released | undefined;
}

/** Earlier versions of appointments. */
export interface Histories {
  /** The versions with their authors, the oldest first, by the id of the appointment. */
  readonly versions: ReadonlyMap<string, readonly Appointment[]>;
  /** The Slots of those versions whose time is the time of the booking. */
  readonly slots: readonly Slot[];
}

/** The Slots around a booking, and their holders. */
export interface Nearby {
  /** All Slots that were split off the same Slots, and all within reach in time. */
  readonly slots: readonly Slot[];
  /** Uses of these Slots by appointments that are not rewritten, as far as the holders were read. */
  readonly uses: SlotUses;
  /** Expired holds and requests that prevent the booking; they do not count as uses. */
  readonly expired: readonly Appointment[];
  /** The rows with the reservations of their Schedules, read after the Slots. */
  readonly rows: readonly Task[];
}

/** The results of the second reading. They are read with the Bot's own rights, and none of them reaches the caller. */
export interface Knowledge {
  /** The merged patients of the request and their survivors, whether or not the caller may see them. */
  readonly patients?: Patients | undefined;
  /** The times of the open appointments that older reservations name, by id. */
  readonly openTimes?: ReadonlyMap<string, Interval> | undefined;
  /** The role in which the caller acts on appointments of others. */
  readonly role?: Role | undefined;
  readonly nearby?: Nearby | undefined;
  /** The use of quotas, by `quotaKey`. */
  readonly usage?: ReadonlyMap<string, Usage> | undefined;
  /** The Tasks of earlier appointments that wait for the clinic, or waited until a moment ago. */
  readonly tasks?: readonly Task[] | undefined;
  readonly histories?: Histories | undefined;
}

export const servicesOf = (schedule: Schedule, state: ResourceSet): ScheduleServices =>
  withServices(schedule, resourcesOfType(state, 'HealthcareService'));

/** The Schedules that a request names, directly or through its slots, without duplicates. */
export function schedulesNamed({ slots, schedule }: AppointmentRequest, state: ResourceSet): Schedule[] {
  const named = schedulesOfSlots(
    slots.map(({ value }) => value),
    state,
  );
  const own = schedule && findResource(state, 'Schedule', schedule.value);
  return [...new Set([...named, ...(own ? [own] : [])])];
}

export interface PolicyResult {
  readonly policies: readonly EffectivePolicy[];
  /** Issues that count for requestors only. */
  readonly issues: readonly Issue[];
  /** Quotas to be counted if the booking has no other issues. */
  readonly quotas: readonly Quota[];
}

/** Applies the cancellation rules to each appointment that is moved or replaced: it gives its time back. */
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
    schedules.map((schedule) => {
      const { services } = withNamedServices(servicesOf(schedule, state), appointment.value.serviceType);
      return effectivePolicy(schedule, services, config);
    });
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
