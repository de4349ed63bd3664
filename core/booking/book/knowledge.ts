import type { Appointment, HealthcareService, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { serviceIdsOf } from '../../fhir/reference/service-reference.ts';
import type { Patients } from '../appointment/change.ts';
import type { Role } from '../caller-role.ts';
import type { Quota, Usage } from '../policy/quota.ts';
import { findResource, type ResourceSet, servicesOf } from '../resource-set.ts';
import type { Fragments } from '../slots/fragments.ts';
import type { ScheduleTime } from '../slots/reads.ts';

/** Earlier versions of appointments. */
export interface Histories {
  /** The versions with their authors, the oldest first, by the id of the appointment. */
  readonly versions: ReadonlyMap<string, readonly Appointment[]>;
  /** Ids of the appointments of which only the latest versions are included. */
  readonly cut?: ReadonlySet<string>;
  /** The Slots of those versions whose time is the time of the booking. */
  readonly slots: readonly Slot[];
}

/** What a decision may depend on besides `bookingReads`, read only when it does. */
export interface Knowledge {
  /** What the slots were split into, and how appointments use them. */
  readonly fragments?: Fragments | undefined;
  /** The role in which the caller acts. */
  readonly role?: Role | undefined;
  /** HealthcareServices that Schedules name in their `serviceType`; those that do not exist are absent. */
  readonly services?: ResourceSet | undefined;
  /** Everything within reach of the time that the booking takes or gives back. */
  readonly around?: { readonly slots: readonly Slot[] } | undefined;
  /** How far quotas are used up. */
  readonly usage?: ReadonlyMap<string, Usage> | undefined;
  /** The Tasks of earlier appointments that wait for the clinic, or waited until a moment ago. */
  readonly tasks?: readonly Task[] | undefined;
  readonly histories?: Histories | undefined;
  /** Merged patients and those into which they were merged, whether or not the caller may see them. */
  readonly patients?: Patients | undefined;
}

/** What must be read before a decision can be made. */
export interface Wanted {
  /** The fragments of these slots, without the uses of the appointments that are being rewritten. */
  readonly fragments?: { readonly origins: readonly string[]; readonly rewritten: readonly string[] };
  readonly role?: true;
  /** Ids of HealthcareServices. */
  readonly services?: readonly string[];
  /** All Slots of Schedules at these times. */
  readonly around?: readonly ScheduleTime[];
  readonly quotas?: readonly Quota[];
  /** Ids of appointments whose Tasks are to be read. */
  readonly tasks?: readonly string[];
  /** Ids of appointments. */
  readonly histories?: readonly string[];
  /** Ids of patients who may have been merged. */
  readonly patients?: readonly string[];
}

/** The services of a Schedule: those whose calendar it is, and those that it names as offered. */
export function offeredServicesOf(
  schedule: Schedule,
  state: ResourceSet,
  { services = new Map() }: Knowledge,
): HealthcareService[] {
  const named = serviceIdsOf(schedule).flatMap((id) => findResource(services, 'HealthcareService', id) ?? []);
  return [...servicesOf(state, schedule), ...named];
}

/** The ids of services that these Schedules name and that have not been read yet. */
export function unknownServices(schedules: readonly Schedule[], { services }: Knowledge): string[] {
  return services ? [] : [...new Set(schedules.flatMap(serviceIdsOf))];
}
