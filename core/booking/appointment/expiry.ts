import type { Appointment, CodeableConcept, Coding, Extension, Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { type Artefact, artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { type BookingErrorCode, bookingErrors } from '../../fhir/outcome/errors.ts';
import { idIn } from '../../fhir/reference.ts';
import type { Interval } from '../../time/interval.ts';
import type { EffectivePolicy } from '../policy/policy.ts';

/** Time that is held for one person, and the reason. */
export interface PersonalOffer {
  readonly reason: 'waitlist' | 'absence' | 'visit' | 'assistant';
  /** Ids of the waitlist entry, and of the appointments that it would replace: one, or all appointments of a visit. */
  readonly for: readonly string[];
  /** The end of the personal offer, in milliseconds since 1970 UTC. */
  readonly until: number;
  /** Whether a patient can be asked for consent. Only for a personal offer that an assistant requested. */
  readonly canAsk?: (patient: Patient) => boolean;
}

/** The extensions that make an appointment a personal offer. `LocalOffer` stays when the appointment is booked. */
export function offerExtensions({ reason, for: ids, until }: PersonalOffer, config: PublicConfig): Extension[] {
  const said = ids.map((id) => ({ url: 'for', valueReference: { reference: `Appointment/${id}` } }));
  return [
    { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: formatInstant(until) },
    { url: artefactUri(config, 'LocalOffer'), extension: [{ url: 'reason', valueCode: reason }, ...said] },
  ];
}

const partsOf = ({ extension }: Appointment, config: PublicConfig): readonly Extension[] => {
  const extensions: readonly (Extension | null)[] = Array.isArray(extension) ? extension : [];
  return extensions.find((one) => one?.url === artefactUri(config, 'LocalOffer'))?.extension ?? [];
};

/** The reason of a current or former personal offer; `undefined` for other appointments. */
export const offerReason = (appointment: Appointment, config: PublicConfig): string | undefined =>
  partsOf(appointment, config).find(({ url }) => url === 'reason')?.valueCode;

/** Whether an appointment is, or was, a personal offer that an assistant requested. */
export const isForAssistant = (appointment: Appointment, config: PublicConfig): boolean =>
  offerReason(appointment, config) === 'assistant';

/** Whether an appointment is, or was, a personal offer of freed time to a person on the waitlist. */
export const isFromWaitlist = (appointment: Appointment, config: PublicConfig): boolean =>
  partsOf(appointment, config).some(({ url, valueCode }) => url === 'reason' && valueCode === 'waitlist');

/** Ids of the waitlist entry and of the appointments that a current or former personal offer would replace. */
export function offeredFor(appointment: Appointment, config: PublicConfig): string[] {
  return partsOf(appointment, config).flatMap(
    ({ url, valueReference }) => (url === 'for' && idIn(valueReference, 'Appointment')) || [],
  );
}

/**
 * An automatic end of an appointment, at a moment that it contains. It counts even before the stored status changes.
 */
interface Expiry {
  readonly status: Appointment['status'];
  /** The extension with the moment of the end. */
  readonly until: Artefact;
  /** A further extension that distinguishes kinds with the same `until`. */
  readonly with?: Artefact;
  /** The code of its cancellation reason, and of a refusal to book it again. */
  readonly code: Extract<BookingErrorCode, 'hold-expired' | 'confirmation-expired'>;
  readonly reason: string;
  /** The message for its owner once the time is taken. */
  readonly taken: string;
}

const expiries = {
  /** Time held for one person by the service. */
  offer: {
    status: 'proposed',
    until: 'LocalHeldUntil',
    with: 'LocalOffer',
    code: 'hold-expired',
    reason: 'The offer was not accepted in time.',
    taken: 'The offer has expired, and its time has since been taken: search for another time.',
  },
  /** Time held for a requestor for some minutes. */
  hold: {
    status: 'proposed',
    until: 'LocalHeldUntil',
    code: 'hold-expired',
    reason: 'The hold is over.',
    taken: 'The hold has expired, and its time has since been taken: search for another time.',
  },
  /** A request that the clinic has to confirm by a deadline. */
  request: {
    status: 'pending',
    until: 'LocalConfirmationDeadline',
    code: 'confirmation-expired',
    reason: 'The clinic did not confirm the appointment in time.',
    taken:
      'The clinic did not confirm the request in time, and its time has since been taken: search for another time.',
  },
} as const satisfies Record<string, Expiry>;

type Expiring = keyof typeof expiries;

/** In order of precedence: a personal offer also matches `hold`. */
const kinds: readonly Expiring[] = ['offer', 'hold', 'request'];

/** The extensions that a hold or a request has and a booking drops. */
export const passingExtensions: readonly Artefact[] = [
  ...kinds.map((kind) => expiries[kind].until),
  'LocalHoldProlonged',
];

function extensionOf({ extension }: Appointment, artefact: Artefact, config: PublicConfig): Extension | undefined {
  const url = artefactUri(config, artefact);
  return (Array.isArray(extension) ? extension : []).find((one) => one?.url === url);
}

/**
 * The end of a hold or a personal offer, or the deadline to confirm a request, in milliseconds since 1970 UTC;
 * `undefined` if the appointment was never one, or has no deadline. An end that cannot be read has passed.
 */
export function endOf(kind: Expiring, appointment: Appointment, config: PublicConfig): number | undefined {
  const { until, with: further }: Expiry = expiries[kind];
  const found = extensionOf(appointment, until, config);
  const isIt =
    found !== undefined && (further === undefined || extensionOf(appointment, further, config) !== undefined);
  return isIt ? (parseInstant(found.valueInstant) ?? 0) : undefined;
}

/** Whether an appointment is a hold or a personal offer, or was one when it was cancelled. */
export function isHold(appointment: Appointment, config: PublicConfig): boolean {
  return endOf('hold', appointment, config) !== undefined;
}

/** Whether an appointment is a personal offer, or was one when it was cancelled. */
export function isPersonalOffer(appointment: Appointment, config: PublicConfig): boolean {
  return endOf('offer', appointment, config) !== undefined;
}

/** Whether an appointment is stored as open and has an automatic end, past or future. */
export function isWaiting(kind: Expiring, appointment: Appointment, config: PublicConfig): boolean {
  return appointment.status === expiries[kind].status && endOf(kind, appointment, config) !== undefined;
}

const isOver = (kind: Expiring, appointment: Appointment, now: number, config: PublicConfig): boolean =>
  isWaiting(kind, appointment, config) && (endOf(kind, appointment, config) ?? 0) <= now;

const isUnderWay = (kind: Expiring, appointment: Appointment, now: number, config: PublicConfig): boolean =>
  isWaiting(kind, appointment, config) && !isOver(kind, appointment, now, config);

/** Whether a requestor's hold is under way. It includes personal offers that an assistant requested. */
export function isHolding(appointment: Appointment, now: number, config: PublicConfig): boolean {
  const isOwn = !isPersonalOffer(appointment, config) || isForAssistant(appointment, config);
  return isUnderWay('hold', appointment, now, config) && isOwn;
}

/** Whether an appointment is a personal offer that can be accepted at a given time. */
export function isOpenOffer(appointment: Appointment, now: number, config: PublicConfig): boolean {
  return isUnderWay('offer', appointment, now, config);
}

/** Whether an appointment has expired although it is stored as open. It no longer has a right to its slots. */
export function hasEnded(appointment: Appointment, now: number, config: PublicConfig): boolean {
  return kinds.some((kind) => isOver(kind, appointment, now, config));
}

/**
 * Whether a hold or a request expired, cancelled by the service or still stored as open. One that was cancelled before
 * its end did not expire.
 */
export function hasRunOut(kind: Expiring, appointment: Appointment, now: number, config: PublicConfig): boolean {
  const { code } = expiries[kind];
  const system = artefactUri(config, 'LocalBookingError');
  const isMarked = appointment.cancelationReason?.coding?.some(
    (coding) => coding.system === system && coding.code === code,
  );
  const isTidiedUp = appointment.status === 'cancelled' && isMarked === true;
  return isOver(kind, appointment, now, config) || (isTidiedUp && endOf(kind, appointment, config) !== undefined);
}

/**
 * The way in which an appointment expired, cancelled by the service or still stored as open. It can be booked again
 * under its id if its time is free.
 */
export function endingOf(appointment: Appointment, now: number, config: PublicConfig): Expiry | undefined {
  const kind = kinds.find((one) => hasRunOut(one, appointment, now, config));
  return kind && expiries[kind];
}

/** The publishers' code for reasons without a code of their own. */
const OTHER = 'other';

/**
 * The reason of a cancellation by the service. It has the service's own code and, if the publisher of the profile binds
 * the reasons and has a code `other`, that code, too.
 */
export function reasonOf(
  code: Expiry['code'] | 'slot-not-free' | 'patient-inactive',
  text: string,
  config: BookingConfig,
): CodeableConcept {
  const own = { system: artefactUri(config, 'LocalBookingError'), code, display: bookingErrors[code].display };
  return { coding: [own, ...otherReason(config)], text };
}

/** The publisher's code for a reason without one of its own, if there is such a code. */
export function otherReason({ appointmentRules }: BookingConfig): Coding[] {
  const bound = appointmentRules?.cancelationReason;
  return bound?.codes.includes(OTHER) ? [{ system: bound.system, code: OTHER }] : [];
}

/** The cancellation reason of a waitlist entry whose person has accepted a personal offer. */
export function answeredReason(config: BookingConfig): CodeableConcept {
  const coding = otherReason(config);
  return { ...(coding.length > 0 && { coding }), text: 'The person has accepted an offer.' };
}

/** The appointment as it must be stored now: cancelled with a coded reason if it has expired, else unchanged. */
export function afterItsEnd(appointment: Appointment, now: number, config: BookingConfig): Appointment {
  const kind = kinds.find((one) => isOver(one, appointment, now, config));
  const expiry = kind && expiries[kind];
  return expiry
    ? { ...appointment, status: 'cancelled', cancelationReason: reasonOf(expiry.code, expiry.reason, config) }
    : appointment;
}

/** The default length of a hold, in milliseconds: ten minutes. */
export const DEFAULT_HOLD = 600_000;

/** Whether a hold was extended, which is possible only once. */
export function isProlonged(appointment: Appointment, config: PublicConfig): boolean {
  return extensionOf(appointment, 'LocalHoldProlonged', config)?.valueBoolean === true;
}

/** The extensions that make an appointment a hold until a given time. */
export function holdExtensions(until: number, isProlonging: boolean, config: PublicConfig): Extension[] {
  return [
    { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: formatInstant(until) },
    ...(isProlonging ? [{ url: artefactUri(config, 'LocalHoldProlonged'), valueBoolean: true }] : []),
  ];
}

/**
 * The deadline of a new request: the shortest that the policies of its Schedules give the clinic, but no later than the
 * start of the appointment. A request that is sent again for the same time keeps its deadline.
 * @param previous - the appointment that is sent again
 * @returns nothing if no policy gives one
 */
export function deadlineExtensions(
  policies: readonly EffectivePolicy[],
  { start, end }: Interval,
  previous: Appointment | undefined,
  now: number,
  config: PublicConfig,
): Extension[] {
  const lengths = policies.flatMap(({ policy }) => policy.confirmWithin ?? []);
  if (lengths.length === 0) {
    return [];
  }
  const isSameTime = parseInstant(previous?.start) === start && parseInstant(previous?.end) === end;
  const given = previous && isSameTime && isWaiting('request', previous, config) && endOf('request', previous, config);
  const deadline = given && given > now ? given : Math.min(now + Math.min(...lengths), start);
  return [{ url: artefactUri(config, 'LocalConfirmationDeadline'), valueInstant: formatInstant(deadline) }];
}
