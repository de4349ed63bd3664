import type { Appointment, HealthcareService, Schedule, Slot, Task } from '@medplum/fhirtypes';
import type { SlotChange } from '../../calendar/publish/slot-change.ts';
import { serviceIdsOf } from '../../fhir/reference/service-reference.ts';
import type { Interval } from '../../time/interval.ts';
import type { Patients } from '../appointment/change.ts';
import type { Role } from '../caller-role.ts';
import type { Quota, Usage } from '../policy/quota.ts';
import { findResource, type ResourceSet, servicesOf } from '../resource-set.ts';
import type { Fragments } from '../slots/fragments.ts';
import type { Returning } from './resubmission/returning.ts';

/** Earlier versions of appointments. */
export interface Histories {
  /** By the id of the appointment, the oldest first, with their authors. */
  readonly versions: ReadonlyMap<string, readonly Appointment[]>;
  /** Ids of the appointments of which these are the latest versions only. */
  readonly cut?: ReadonlySet<string>;
  /** The Slots of those that were at the time of the booking. */
  readonly slots: readonly Slot[];
}

/** What a decision may depend on besides `bookingReads`: it is read only when it does. */
export interface Knowledge {
  /** What the slots were split into, and how appointments use them. */
  readonly fragments?: Fragments | undefined;
  /** As whom the caller acts. */
  readonly role?: Role | undefined;
  /** HealthcareServices that Schedules name in their `serviceType`; those that do not exist are absent. */
  readonly services?: ResourceSet | undefined;
  /** What is around the time of a booking that needs buffers. */
  readonly around?: { readonly slots: ResourceSet; readonly offered: ReadonlySet<string> } | undefined;
  /** What the appointment that is moved or replaced keeps others from offering, and how it returns. */
  readonly returning?: readonly SlotChange[] | undefined;
  /** How far quotas are used up. */
  readonly usage?: ReadonlyMap<string, Usage> | undefined;
  /** The Tasks of earlier appointments that wait, or waited a moment ago, for the clinic. */
  readonly tasks?: readonly Task[] | undefined;
  readonly histories?: Histories | undefined;
  /** Patients who were merged, and into whom, whether or not the caller may see them. */
  readonly patients?: Patients | undefined;
}

/** What is to be read before a decision can be made. */
export interface Wanted {
  /** The fragments of these slots, without the uses of the appointments that are being rewritten. */
  readonly fragments?: { readonly origins: readonly string[]; readonly rewritten: readonly string[] };
  readonly role?: true;
  /** Ids of HealthcareServices. */
  readonly services?: readonly string[];
  /** Everything of these Schedules at a time. */
  readonly around?: { readonly schedules: readonly string[]; readonly interval: Interval };
  readonly returning?: Returning;
  readonly quotas?: readonly Quota[];
  /** Ids of appointments whose Tasks are to be read. */
  readonly tasks?: readonly string[];
  /** Ids of appointments. */
  readonly histories?: readonly string[];
  /** Ids of patients who may have been merged. */
  readonly patients?: readonly string[];
}

/** The services of a Schedule: those whose calendar it is, and those that it names as what it offers. */
export function offeredServicesOf(
  schedule: Schedule,
  state: ResourceSet,
  { services = new Map() }: Knowledge,
): HealthcareService[] {
  const named = serviceIdsOf(schedule).flatMap((id) => findResource(services, 'HealthcareService', id) ?? []);
  return [...servicesOf(state, schedule), ...named];
}

/** The ids of services that these Schedules name and that were not read yet. */
export function unknownServices(schedules: readonly Schedule[], { services }: Knowledge): string[] {
  return services ? [] : [...new Set(schedules.flatMap(serviceIdsOf))];
}
