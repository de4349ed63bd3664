import type { Appointment, CodeableConcept, Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { offeredFor, offeredUntil, offerReason, stepIn } from '../../../packages/web/appointments.ts';
import { extensionIn, listOf, textOf } from '../../../packages/web/elements.ts';
import type { ExtensionUrls } from '../../../packages/web/refusal.ts';
import { type BookableService, usesWaitlist } from '../clinic/services.ts';
import type { State } from '../texts/texts.ts';

/** An appointment as patients see it. What the clinic's record lacks is `undefined`. */
export interface AppointmentView {
  readonly id: string;
  readonly state: State;
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly what: string | undefined;
  readonly serviceKey: string | undefined;
  /** The name of the step that it is of a visit, and the service that asks for the visit. */
  readonly step: { readonly name: string; readonly service: string } | undefined;
  /** The series of which it is one: its name, and its service if several of it are still to come. */
  readonly series?: { readonly group: string; readonly key: string | undefined };
  /** The code of the payer kind. */
  readonly payer: string | undefined;
  readonly withWhom: string | undefined;
  readonly where: string | undefined;
  /** Where a map shows it. */
  readonly map: string | undefined;
  /** What to know before the visit. */
  readonly bring: string | undefined;
  readonly forWhom: string | undefined;
  readonly comment: string | undefined;
  readonly notes: string | undefined;
  readonly reason: string | undefined;
  /** Until when the clinic has to answer a request, in milliseconds since 1970 UTC. */
  readonly answerBy: number | undefined;
  /** Whether the clinic did not answer a request in time. */
  readonly isUnanswered: boolean;
  /** Until when it can be moved or cancelled, in milliseconds since 1970 UTC; `undefined`: it cannot, by its state. */
  readonly openUntil: number | undefined;
  /** Whether it can be moved or cancelled now. */
  readonly isOpen: boolean;
  /** The days for which somebody waits; only of an entry of the waitlist. */
  readonly wish: { readonly start: number; readonly end: number } | undefined;
  /** The place on the waitlist, as far as it was asked for. */
  readonly place?: number | undefined;
  /** Whether the clinic writes to the person. */
  readonly isTold?: boolean;
  /** Whether something earlier could be waited for. */
  readonly isRefilled: boolean;
  /** The appointments of the visit in the order of time, each as it is; empty unless it is one of several. */
  readonly steps: readonly AppointmentView[];
  /** Until when it is offered, in milliseconds since 1970 UTC, and whether a later appointment is given up for it. */
  readonly offer: { readonly until: number; readonly isInstead: boolean; readonly isForAbsence: boolean } | undefined;
}

const states: Readonly<Record<NonNullable<Appointment['status']>, State>> = {
  proposed: 'asked',
  pending: 'asked',
  booked: 'confirmed',
  arrived: 'arrived',
  'checked-in': 'arrived',
  fulfilled: 'over',
  noshow: 'missed',
  cancelled: 'cancelled',
  'entered-in-error': 'unclear',
  waitlist: 'waiting',
};

const codesIn = (concept: CodeableConcept | undefined): (string | undefined)[] =>
  listOf(concept?.coding).map(({ code }) => code);

/** The ids of the patients who take part. */
export function patientsOf({ participant }: Appointment): string[] {
  return listOf(participant).flatMap(({ actor }) => {
    const [type, id] = actor?.reference?.split('/') ?? [];
    return type === 'Patient' && id ? [id] : [];
  });
}

/** Whether an appointment is a time that is, or was, only held. */
export function isHold({ status, extension }: Appointment, heldUntil: string): boolean {
  const isUnbooked = status === 'proposed' || status === 'cancelled';
  return isUnbooked && listOf(extension).some(({ url }) => url === heldUntil);
}

/** How an offer to one person stands, as long as it does. */
function offerIn(appointment: Appointment, urls: Pick<ExtensionUrls, 'offer' | 'heldUntil'>, now: number) {
  const until = offeredUntil(appointment, urls, now);
  const reasons = offeredFor(appointment, urls);
  return until !== undefined && reasons.length > 0
    ? {
        until,
        isInstead: reasons.length > 1,
        isForAbsence: offerReason(appointment, urls) === 'absence',
      }
    : undefined;
}

/** The days for which somebody waits. */
function wishIn({ requestedPeriod, start }: Appointment): AppointmentView['wish'] {
  const wishes = start === undefined ? listOf(requestedPeriod) : [];
  const [from, to] = [parseInstant(wishes[0]?.start), parseInstant(wishes.at(-1)?.end)];
  return from !== undefined && to !== undefined ? { start: from, end: to } : undefined;
}

/** The calendar of an appointment, by the Slot that it takes. */
function scheduleOf({ slot }: Appointment, slots: readonly Slot[], services: readonly BookableService[]) {
  const ids = listOf(slot).map(({ reference }) => reference?.split('/')[1]);
  const schedule = slots.find(({ id }) => ids.includes(id))?.schedule?.reference;
  const schedules = services.flatMap((service) => service.schedules);
  return schedules.find(({ reference }) => reference === schedule);
}

/**
 * An appointment as patients see it, whatever is missing from it.
 *
 * @param slots - the Slots that were found with it
 * @param urls - the addresses of extensions
 * @param now - milliseconds since 1970 UTC
 */
export function viewOf(
  appointment: Appointment,
  slots: readonly Slot[],
  services: readonly BookableService[],
  urls: Pick<ExtensionUrls, 'deadline' | 'payerKind' | 'offer' | 'heldUntil' | 'visitStep'>,
  now: number,
): AppointmentView {
  const [start, end] = [parseInstant(appointment.start), parseInstant(appointment.end)];
  const nameOf = (...types: readonly string[]): string | undefined =>
    listOf(appointment.participant)
      .filter(({ actor }) => types.some((type) => actor?.reference?.startsWith(`${type}/`)))
      .map(({ actor }) => textOf(actor?.display))
      .find((name) => name !== undefined);
  const [type] = listOf(appointment.serviceType);
  const coding = listOf(type?.coding)[0];
  const { cancelationReason: reason } = appointment;
  const offer = offerIn(appointment, urls, now);
  const state = offer ? 'offered' : (states[appointment.status] ?? 'unclear');
  const schedule = scheduleOf(appointment, slots, services);
  const what = textOf(type?.text) ?? textOf(coding?.display) ?? textOf(appointment.description);
  const withWhom = nameOf('Practitioner', 'PractitionerRole', 'HealthcareService') ?? textOf(schedule?.name);
  const isChangeable = (state === 'asked' || state === 'confirmed') && start !== undefined;
  const openUntil = isChangeable ? start - (schedule?.cancelUntil ?? 0) : undefined;
  const answer = extensionIn(appointment.extension, urls.deadline);
  return {
    id: appointment.id ?? '',
    state: start === undefined && state !== 'cancelled' && state !== 'waiting' ? 'unclear' : state,
    start,
    end,
    what,
    serviceKey: coding?.code ? `${coding.system ?? ''}|${coding.code}` : undefined,
    step: stepIn(appointment, urls.visitStep),
    payer: extensionIn(appointment.extension, urls.payerKind)?.valueCoding?.code,
    withWhom: withWhom === what ? undefined : withWhom,
    where: nameOf('Location') ?? schedule?.place,
    map: nameOf('Location') === undefined ? schedule?.map : undefined,
    bring: schedule?.bring,
    forWhom: nameOf('Patient'),
    comment: textOf(appointment.comment),
    notes: textOf(appointment.patientInstruction),
    reason: state === 'cancelled' ? (textOf(reason?.text) ?? textOf(listOf(reason?.coding)[0]?.display)) : undefined,
    answerBy: state === 'asked' ? parseInstant(answer?.valueInstant) : undefined,
    isUnanswered: state === 'cancelled' && codesIn(reason).includes('confirmation-expired'),
    openUntil,
    isOpen: openUntil !== undefined && openUntil > now,
    isRefilled: schedule?.isRefilled ?? false,
    steps: [],
    wish: wishIn(appointment),
    offer,
  };
}

const least = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};

/** The steps of a visit that can be moved or cancelled by their state, and have not begun. */
export const comingOf = (steps: readonly AppointmentView[], now: number): AppointmentView[] =>
  steps.filter(({ openUntil, start = 0 }) => openUntil !== undefined && start > now);

/**
 * A visit as patients see it: one thing from the first step to the last that takes place.
 *
 * @param view - of one of its appointments, under whose address it is shown
 * @param views - of all its appointments
 * @param services - what can be booked
 * @param now - milliseconds since 1970 UTC
 */
export function visitView(
  view: AppointmentView,
  views: readonly AppointmentView[],
  services: readonly BookableService[],
  now: number,
): AppointmentView {
  const steps = views.toSorted((one, other) => (one.start ?? 0) - (other.start ?? 0));
  const standing = steps.filter(({ state }) => state !== 'cancelled');
  const parts = standing.length > 0 ? standing : steps;
  const changeable = standing.filter(({ openUntil }) => openUntil !== undefined);
  const coming = comingOf(standing, now);
  const [first = view] = [...coming, ...changeable, ...parts];
  const ends = parts.flatMap(({ end }) => end ?? []);
  // Only a visit of which nothing has begun is looked for anew.
  const service =
    coming.length === standing.length
      ? services.find(({ visit }) => visit && visit.service === first.step?.service)
      : undefined;
  return {
    ...first,
    id: view.id,
    start: parts[0]?.start,
    end: ends.length > 0 ? Math.max(...ends) : undefined,
    what: [...new Set(parts.flatMap(({ what }) => what ?? []))].join(', ') || undefined,
    withWhom: undefined,
    where: undefined,
    serviceKey: service?.key,
    isRefilled: service !== undefined && usesWaitlist(service),
    notes: [...new Set(parts.flatMap(({ notes }) => notes ?? []))].join('\n\n') || undefined,
    bring: [...new Set(parts.flatMap(({ bring }) => bring ?? []))].join('\n\n') || undefined,
    openUntil: least((coming.length > 0 ? coming : changeable).map(({ openUntil }) => openUntil)),
    isOpen: coming.length > 0 && coming.every(({ isOpen }) => isOpen),
    steps,
  };
}
