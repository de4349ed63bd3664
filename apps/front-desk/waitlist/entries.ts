import type { Appointment, Patient } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { compareEntries, isStillWaiting } from '../../../core/fhir/scheduling/waitlist-order.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { addDays, intervalOf, localDayOf, mondayOf } from '../../../core/time/local-day.ts';
import { momentIn, offeredFor, offeredUntil, offerReason } from '../../../packages/web/appointments.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { extensionUrls } from '../../../packages/web/refusal.ts';
import { otherNamesIn, patientIdOf } from '../appointment/people.ts';
import { timeOf } from '../day/entries.ts';

/** An entry of the waitlist. */
export interface Entry {
  readonly id: string;
  readonly appointment: Appointment;
  readonly patient: Patient | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly since: number | undefined;
  readonly wishes: readonly Interval[];
  /** The open personal offer, and its end. */
  readonly offer: (Interval & { readonly until: number; readonly appointment: Appointment }) | undefined;
}

/** The searches for waitlist entries with their patients, and for holds and personal offers. */
export const waitlistSearches = [
  { type: 'Appointment', query: [['status', 'waitlist']], include: [['_include', 'Appointment:patient']] },
  { type: 'Appointment', query: [['status', 'proposed']] },
] as const;

/** The entries of the waitlist, in the order in which they get offers. */
export function entriesIn(resources: readonly unknown[], now: number, config: PublicConfig): Entry[] {
  const patients = new Map(
    resources.filter((one) => isResource(one, 'Patient')).map((patient) => [patient.id, patient]),
  );
  const appointments = resources.filter((one) => isResource(one, 'Appointment'));
  const urls = extensionUrls(config);
  const offers = appointments.filter((appointment) => offeredUntil(appointment, urls, now) !== undefined);
  const waiting = appointments.filter((appointment) => isStillWaiting(appointment, now)).toSorted(compareEntries);
  return waiting.map((appointment): Entry => {
    const { id = '', created, requestedPeriod } = appointment;
    const offer = offers.find((one) => offeredFor(one, urls).includes(id));
    const time = offer && timeOf(offer);
    const until = offer && momentIn(offer, urls.heldUntil);
    return {
      id,
      appointment,
      patient: patients.get(patientIdOf(appointment)),
      since: parseInstant(created),
      wishes: listOf(requestedPeriod).flatMap((wish) => {
        const [start, end] = [parseInstant(wish.start), parseInstant(wish.end)];
        return start === undefined || end === undefined ? [] : [{ start, end }];
      }),
      offer: offer && time && until !== undefined ? { ...time, until, appointment: offer } : undefined,
    };
  });
}

const kept = 'booked,pending,arrived,checked-in,fulfilled';

/** The search for the appointments of the current week, with the elements that `filledIn` needs. */
export function weekSearch(now: number, timeZone: string) {
  const monday = mondayOf(localDayOf(now, timeZone));
  const [begin, end] = [monday, addDays(monday, 7)].map((day) => new Date(intervalOf(day, timeZone).start));
  const query = [
    ['status', kept],
    ['date', `ge${begin?.toISOString()}`],
    ['date', `lt${end?.toISOString()}`],
    ['_fields', 'start,end,extension,participant'],
  ] as const;
  return { type: 'Appointment', query } as const;
}

interface Filled {
  /** The participants besides the patient: practitioner, room. */
  readonly whom: string;
  readonly count: number;
  readonly minutes: number;
}

/** The time that was booked through the waitlist, by participants; the most first. */
export function filledIn(resources: readonly unknown[], config: PublicConfig): Filled[] {
  const found = new Map<string, Filled>();
  for (const one of resources) {
    const time =
      isResource(one, 'Appointment') && offerReason(one, extensionUrls(config)) === 'waitlist'
        ? timeOf(one)
        : undefined;
    if (time && isResource(one, 'Appointment')) {
      const whom = otherNamesIn(one);
      const { count = 0, minutes = 0 } = found.get(whom) ?? {};
      found.set(whom, { whom, count: count + 1, minutes: minutes + (time.end - time.start) / 60_000 });
    }
  }
  return [...found.values()].sort((one, other) => other.minutes - one.minutes);
}
