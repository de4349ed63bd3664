import type { Appointment, CodeableConcept, Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { offeredFor, offeredUntil, offerReason, stepIn } from '../../../packages/web/appointments.ts';
import { extensionIn, listOf, textOf } from '../../../packages/web/elements.ts';
import type { ExtensionUrls } from '../../../packages/web/refusal.ts';
import { type BookableService, usesWaitlist } from '../clinic/services.ts';
import type { State } from '../texts/texts.ts';

/** An appointment as patients see it. Elements that the resource lacks are `undefined`. */
export interface AppointmentView {
  readonly id: string;
  readonly state: State;
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly what: string | undefined;
  readonly serviceKey: string | undefined;
  /** The step of a visit, and the id of the visit's service. */
  readonly step: { readonly name: string; readonly service: string } | undefined;
  /** The identifier of the series, the key of its service, and its appointments by start. */
  readonly series?: {
    readonly group: string;
    readonly key: string | undefined;
    readonly all: readonly AppointmentView[];
  };
  readonly payer: string | undefined;
  readonly withWhom: string | undefined;
  readonly where: string | undefined;
  readonly map: string | undefined;
  /** Instructions for patients. */
  readonly bring: string | undefined;
  readonly forWhom: string | undefined;
  readonly comment: string | undefined;
  readonly notes: string | undefined;
  readonly reason: string | undefined;
  /** Deadline of the clinic's response to a request, in milliseconds since 1970 UTC. */
  readonly answerBy: number | undefined;
  /** Whether the clinic, and not the patient, ended it. */
  readonly isByClinic: boolean;
  /** Whether the deadline passed without a response. */
  readonly isUnanswered: boolean;
  /**
   * End of the period for moves and cancellations, in milliseconds since 1970 UTC; `undefined` if the status allows
   * neither.
   */
  readonly openUntil: number | undefined;
  readonly isOpen: boolean;
  /** The requested period of a waitlist entry. */
  readonly wish: { readonly start: number; readonly end: number } | undefined;
  readonly position?: number | undefined;
  /** Whether the clinic sends messages to the person. */
  readonly isNotified?: boolean;
  /** Whether the waitlist can be joined for an earlier time. */
  readonly hasWaitlist: boolean;
  /** The appointments of the visit by start; empty for a single appointment. */
  readonly steps: readonly AppointmentView[];
  /** The personal offer: its end in milliseconds since 1970 UTC, and whether it replaces a later appointment. */
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

/** Ids of the patients among the participants. */
export function patientsOf({ participant }: Appointment): string[] {
  return listOf(participant).flatMap(({ actor }) => {
    const [type, id] = actor?.reference?.split('/') ?? [];
    return type === 'Patient' && id ? [id] : [];
  });
}

/** Whether an appointment is a hold, or was one until it was cancelled. */
export function isHold({ status, extension }: Appointment, heldUntil: string): boolean {
  const isUnbooked = status === 'proposed' || status === 'cancelled';
  return isUnbooked && listOf(extension).some(({ url }) => url === heldUntil);
}

/** The personal offer of an appointment, if it is still valid. */
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

function wishIn({ requestedPeriod, start }: Appointment): AppointmentView['wish'] {
  const wishes = start === undefined ? listOf(requestedPeriod) : [];
  const [from, to] = [parseInstant(wishes[0]?.start), parseInstant(wishes.at(-1)?.end)];
  return from !== undefined && to !== undefined ? { start: from, end: to } : undefined;
}

function scheduleOf({ slot }: Appointment, slots: readonly Slot[], services: readonly BookableService[]) {
  const ids = listOf(slot).map(({ reference }) => reference?.split('/')[1]);
  const schedule = slots.find(({ id }) => ids.includes(id))?.schedule?.reference;
  const schedules = services.flatMap((service) => service.schedules);
  return schedules.find(({ reference }) => reference === schedule);
}

/** Converts an appointment, whatever elements it lacks. `now` is in milliseconds since 1970 UTC. */
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
  const ended = codesIn(reason);
  const offer = offerIn(appointment, urls, now);
  const state = offer ? 'offered' : (states[appointment.status] ?? 'unclear');
  const schedule = scheduleOf(appointment, slots, services);
  // What the clinic has written is shown in the patient's language where it has a translation.
  const written = textOf(type?.text) ?? textOf(coding?.display) ?? textOf(appointment.description);
  const what = services.find(({ text }) => text === written)?.name ?? written;
  const actor = nameOf('Practitioner', 'PractitionerRole', 'HealthcareService') ?? schedule?.text;
  const withWhom = textOf(actor === schedule?.text ? schedule?.name : actor);
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
    isByClinic: state === 'cancelled' && reason !== undefined && !ended.includes('pat'),
    isUnanswered: state === 'cancelled' && ended.includes('confirmation-expired'),
    openUntil,
    isOpen: openUntil !== undefined && openUntil > now,
    hasWaitlist: schedule?.hasWaitlist ?? false,
    steps: [],
    wish: wishIn(appointment),
    offer,
  };
}

const least = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};

/** The appointments of a series that can still be moved and cancelled, if there are several. */
export function openOf({ series }: Pick<AppointmentView, 'series'>): readonly AppointmentView[] {
  const open = series?.all.filter(({ isOpen }) => isOpen) ?? [];
  return open.length > 1 ? open : [];
}

/** The future steps of a visit whose status allows moves and cancellations. */
export const comingOf = (steps: readonly AppointmentView[], now: number): AppointmentView[] =>
  steps.filter(({ openUntil, start = 0 }) => openUntil !== undefined && start > now);

/**
 * Combines the appointments of a visit into one view, from its first step that takes place to its last.
 *
 * @param view - the appointment whose id the visit is shown under
 * @param now - milliseconds since 1970 UTC
 */
export function visitView(
  view: AppointmentView,
  views: readonly AppointmentView[],
  services: readonly BookableService[],
  now: number,
): AppointmentView {
  const steps = views.toSorted((one, other) => (one.start ?? 0) - (other.start ?? 0));
  const open = steps.filter(({ state }) => state !== 'cancelled');
  const parts = open.length > 0 ? open : steps;
  const changeable = open.filter(({ openUntil }) => openUntil !== undefined);
  const coming = comingOf(open, now);
  const [first = view] = [...coming, ...changeable, ...parts];
  const ends = parts.flatMap(({ end }) => end ?? []);
  // A visit can be moved as a whole only before it begins.
  const service =
    coming.length === open.length
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
    hasWaitlist: service !== undefined && usesWaitlist(service),
    notes: [...new Set(parts.flatMap(({ notes }) => notes ?? []))].join('\n\n') || undefined,
    bring: [...new Set(parts.flatMap(({ bring }) => bring ?? []))].join('\n\n') || undefined,
    openUntil: least((coming.length > 0 ? coming : changeable).map(({ openUntil }) => openUntil)),
    isOpen: coming.length > 0 && coming.every(({ isOpen }) => isOpen),
    steps,
  };
}
