import type { Appointment, Reference, Schedule, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { serviceIdsOf } from '../../fhir/reference.ts';
import { type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import type { Released } from '../../slots/entries.ts';
import { type ScheduleServices, withServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import type { Patients } from '../appointment/change.ts';
import type { Offer } from '../appointment/expiry.ts';
import type { Fragments, ScheduleTime } from '../appointment/reads.ts';
import type { Role } from '../policy/caller-role.ts';
import type { Quota, Usage } from '../policy/quota.ts';
import type { RequestorLimit } from '../policy/requestor-limits.ts';
import type { Purpose } from '../request/request.ts';

/** What a booking depends on besides the request and the stored state. */
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
  readonly offer?: Offer | undefined;
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

/** A question about what is stored: what is asked, and what is known once it was read. */
interface Question<Asked, Known> {
  readonly asked: Asked;
  readonly known: Known;
}

/**
 * What a decision may depend on besides `bookingReads`, read only when it does. `wanted.ts` tells for each when it is asked,
 * the Bots how it is read.
 */
export interface Questions {
  /** What these slots were split into, and how appointments use it, apart from those that are being rewritten. */
  readonly fragments: Question<
    { readonly origins: readonly string[]; readonly rewritten: readonly string[] },
    Fragments
  >;
  /** The role in which the caller acts on appointments that are not its own, by their ids. */
  readonly role: Question<readonly string[], Role>;
  /** HealthcareServices, by their ids, that Schedules name in their `serviceType`; those that do not exist are absent. */
  readonly services: Question<readonly string[], ResourceSet>;
  /** HealthcareServices, by their ids, that say what a visit needs: with the service's own rights, as portals see no pools. */
  readonly visits: Question<readonly string[], ResourceSet>;
  /** Everything within reach of the time that the booking takes or gives back. */
  readonly around: Question<
    readonly ScheduleTime[],
    { readonly slots: readonly Slot[]; readonly times?: readonly ScheduleTime[]; readonly rows?: readonly Task[] }
  >;
  /** How far quotas are used up, by `quotaKey`. */
  readonly usage: Question<readonly Quota[], ReadonlyMap<string, Usage>>;
  /** The Tasks of earlier appointments, by the ids of these, that wait for the clinic, or waited until a moment ago. */
  readonly tasks: Question<readonly string[], readonly Task[]>;
  /** The earlier versions of appointments, by the ids of these. */
  readonly histories: Question<readonly string[], Histories>;
  /** Patients who may have been merged, by their ids, and those into whom, whether or not the caller may see them. */
  readonly patients: Question<readonly string[], Patients>;
  /**
   * Patients, by their ids, with their authors, which Medplum returns only on demand: they tell duplicates made by
   * simultaneous bookings from patients that a portal submitted.
   */
  readonly authored: Question<readonly string[], ResourceSet>;
}

/** What is read of reservations beside what a decision asks for. */
interface Reserving {
  /** Of the appointments that reservations announced a while ago, the times of those that are open, by id. */
  readonly announced?: ReadonlyMap<string, Interval> | undefined;
}

/** What was read because a decision asked for it. */
export type Knowledge = Reserving & { readonly [Name in keyof Questions]?: Questions[Name]['known'] | undefined };

const byId = <T extends { readonly id?: string }>(...lists: (readonly T[] | undefined)[]): T[] => [
  ...new Map(lists.flatMap((list) => list ?? []).map((one) => [one.id, one])).values(),
];

/** What is known once more was read; of what was read again the later counts. */
export function learned(known: Knowledge, more: Knowledge): Knowledge {
  const { fragments, around, usage, histories } = known;
  return {
    ...known,
    ...more,
    ...(fragments &&
      more.fragments && {
        fragments: {
          slots: byId(fragments.slots, more.fragments.slots),
          uses: new Map([...fragments.uses, ...more.fragments.uses]),
          expired: byId(fragments.expired, more.fragments.expired),
          origins: [...new Set([...(fragments.origins ?? []), ...(more.fragments.origins ?? [])])],
          rows: [...(fragments.rows ?? []), ...(more.fragments.rows ?? [])],
        },
      }),
    ...(around &&
      more.around && {
        around: {
          slots: byId(around.slots, more.around.slots),
          times: [...(around.times ?? []), ...(more.around.times ?? [])],
          rows: [...(around.rows ?? []), ...(more.around.rows ?? [])],
        },
      }),
    ...(usage && more.usage && { usage: new Map([...usage, ...more.usage]) }),
    ...(histories &&
      more.histories && {
        histories: {
          versions: new Map([...histories.versions, ...more.histories.versions]),
          slots: byId(histories.slots, more.histories.slots),
        },
      }),
  };
}

/** What must be read before a decision can be made. */
export type Wanted = { readonly [Name in keyof Questions]?: Questions[Name]['asked'] | undefined };

/** A Schedule with those of its services that were read: as actors with it, or because a decision asked for them. */
export const readServices = (
  schedule: Schedule,
  state: ResourceSet,
  { services = new Map() }: Knowledge,
): ScheduleServices =>
  withServices(schedule, [
    ...resourcesOfType(state, 'HealthcareService'),
    ...resourcesOfType(services, 'HealthcareService'),
  ]);

/** The ids of services that these Schedules name and that have not been read yet. */
export function unknownServices(schedules: readonly Schedule[], { services }: Knowledge): string[] {
  return services ? [] : [...new Set(schedules.flatMap(serviceIdsOf))];
}
