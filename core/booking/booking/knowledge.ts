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

/** What a booking depends on besides the request and what was read. */
export interface BookingContext {
  /** The moment of the decision, in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Id of the requestor's profile in Medplum; everything the booking creates is tagged with it. */
  readonly requestor: string;
  /** The same profile as a reference, with its name where Medplum gives it. */
  readonly requester?: Reference | undefined;
  readonly config: BookingConfig;
  /** Gives a fresh `urn:uuid:` for each resource that the transaction creates. */
  readonly newId: () => string;
  /** The limits of the installation that the requestor has reached. */
  readonly reached?: ReadonlySet<RequestorLimit> | undefined;
  /** What the request is for; by default a booking. */
  readonly purpose?: Purpose | undefined;
  /** What the offer says that the service makes, if it is one. */
  readonly offer?: PersonalOffer | undefined;
  /** What else follows where time is given back. */
  readonly onReleased?: Released | undefined;
}

/** Earlier versions of appointments. */
export interface Histories {
  /** The versions with their authors, the oldest first, by the id of the appointment. */
  readonly versions: ReadonlyMap<string, readonly Appointment[]>;
  /** The Slots of those versions whose time is the time of the booking. */
  readonly slots: readonly Slot[];
}

/** The Slots around a booking, and who holds them. */
export interface Nearby {
  /** All that were split off the same Slots, and all within reach in time. */
  readonly slots: readonly Slot[];
  /** How appointments use those of which the holders were read, apart from the appointments that are rewritten. */
  readonly uses: SlotUses;
  /** Expired holds and requests on them that are in the way; they do not count as uses. */
  readonly expired: readonly Appointment[];
  /** The rows with the reservations of their Schedules, read after them. */
  readonly rows: readonly Task[];
}

/** What follows from what a request names. All of it is read with the Bot's own rights, and none of it reaches the caller. */
export interface Knowledge {
  /** The patients into whom those of the request were merged, whether or not the caller may see them. */
  readonly patients?: Patients | undefined;
  /** Of the appointments that reservations announced a while ago, the times of those that are open, by id. */
  readonly announced?: ReadonlyMap<string, Interval> | undefined;
  /** The role in which the caller acts on the appointments that are not its own. */
  readonly role?: Role | undefined;
  readonly nearby?: Nearby | undefined;
  /** How far quotas are used up, by `quotaKey`. */
  readonly usage?: ReadonlyMap<string, Usage> | undefined;
  /** The Tasks of earlier appointments that wait for the clinic, or waited until a moment ago. */
  readonly tasks?: readonly Task[] | undefined;
  readonly histories?: Histories | undefined;
}

/** A Schedule with those of its services that were read. */
export const servicesOf = (schedule: Schedule, state: ResourceSet): ScheduleServices =>
  withServices(schedule, resourcesOfType(state, 'HealthcareService'));
