import type { Appointment, Reference, Schedule, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import type { Released } from '../../slots/entries.ts';
import type { SlotUses } from '../../slots/slot.ts';
import { type ScheduleServices, withServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import type { Patients } from '../appointment/change.ts';
import type { PersonalOffer } from '../appointment/expiry.ts';
import type { Role } from '../policy/caller-role.ts';
import type { Usage } from '../policy/quota.ts';
import type { RequestorLimit } from '../policy/requestor-limits.ts';
import type { Purpose } from '../request/request.ts';

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
  /** The personal offer that the service makes, if the booking is one. */
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
  /** The times of open appointments that older reservations announced, by id. */
  readonly announced?: ReadonlyMap<string, Interval> | undefined;
  /** The role in which the caller acts on appointments of others. */
  readonly role?: Role | undefined;
  readonly nearby?: Nearby | undefined;
  /** The use of quotas, by `quotaKey`. */
  readonly usage?: ReadonlyMap<string, Usage> | undefined;
  /** The Tasks of earlier appointments that wait for the clinic, or waited until a moment ago. */
  readonly tasks?: readonly Task[] | undefined;
  readonly histories?: Histories | undefined;
}

/** A Schedule with those of its services that were read. */
export const servicesOf = (schedule: Schedule, state: ResourceSet): ScheduleServices =>
  withServices(schedule, resourcesOfType(state, 'HealthcareService'));
