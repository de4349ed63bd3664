import type { Appointment, CodeableConcept, Schedule, Slot } from '@medplum/fhirtypes';
import { inOtherCalendars } from '../booking/appointment/actors.ts';
import { hasGivenWay } from '../booking/appointment/collision.ts';
import { hasRunOut, isHold, isOpenOffer, otherReason } from '../booking/appointment/expiry.ts';
import type { BookingConfig } from '../config/config.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { REPLACES } from '../fhir/tags.ts';
import type { Absent, Proposal } from './plan.ts';
import { type Affected, type AffectedStatus, isAffected } from './rows.ts';

/**
 * The personal offer that replaces an appointment: the same elements, at another time or in other Schedules.
 * @param left - the Schedules that it no longer needs
 * @param joined - the Schedules that it newly needs
 */
export function replacementOffer(
  appointment: Appointment,
  { slots, start, end }: Omit<Proposal, 'schedule'>,
  left: readonly Schedule[],
  joined: readonly Schedule[],
): Appointment {
  const { id: _, meta: __, identifier: ___, created: ____, extension = [], ...copied } = appointment;
  const kept = extension.filter(({ url }) => url !== REPLACES);
  return {
    ...copied,
    ...(kept.length > 0 && { extension: kept }),
    status: 'proposed',
    start: formatInstant(start),
    end: formatInstant(end),
    slot: slots.map((slot) => ({ reference: `Slot/${slot}` })),
    participant: inOtherCalendars(appointment.participant, left, joined),
  };
}

const texts = {
  cancel: 'The clinic is absent at this time.',
  withdraw: 'What was offered is no longer needed, or no longer possible.',
} as const;

/** The reason of a cancellation because of an absence, or of the withdrawal of a personal offer. */
export function absenceReason(what: keyof typeof texts, config: BookingConfig): CodeableConcept {
  const coding = otherReason(config);
  return { ...(coding.length > 0 && { coding }), text: texts[what] };
}

/** The stored state of an affected appointment. */
export interface Known {
  readonly row: Affected;
  readonly rowStatus: AffectedStatus;
  /** `undefined` if it was deleted. */
  readonly appointment: Appointment | undefined;
  /** The personal offer that would replace it. */
  readonly offer: Appointment | undefined;
  /** The other personal offers of the visit. */
  readonly together: readonly Appointment[];
  readonly slots: readonly Slot[];
  /** The absent times of Schedules, from all open absences. */
  readonly absent: readonly Absent[];
}

/** The next action for an affected appointment. */
export type Step =
  | { readonly do: 'nothing' }
  /** The row ends. `withdraws` says whether an open personal offer is withdrawn. */
  | {
      readonly do: 'end';
      readonly as: Extract<AffectedStatus, 'moved' | 'declined' | 'call' | 'over'>;
      readonly withdraws: boolean;
    }
  /** The call by staff is no longer necessary. */
  | { readonly do: 'tick' }
  | { readonly do: 'offer' }
  /** The offered time is itself absent by now, or staff gave it to another appointment. */
  | { readonly do: 'renew' }
  /** The appointment is cancelled. */
  | { readonly do: 'cancel' }
  /** The personal offer is booked without a reply. */
  | { readonly do: 'move' };

/** The most times that are offered to one person, one after the other, because each is gone. */
export const MAX_TRIES = 3;

const nothing: Step = { do: 'nothing' };

const end = (as: Extract<AffectedStatus, 'moved' | 'declined' | 'call' | 'over'>, withdraws = false): Step => ({
  do: 'end',
  as,
  withdraws,
});

/** Whether a personal offer was accepted, whatever happened to the appointment afterwards. */
const isAccepted = (offer: Appointment, config: PublicConfig): boolean => !isHold(offer, config);

const inSilence = { keep: end('call'), cancel: { do: 'cancel' }, move: { do: 'move' } } as const satisfies Record<
  Affected['silence'],
  Step
>;

/** Decides the next action from stored data only, so that interrupted, missed or repeated runs do no harm. */
export function nextStep(known: Known, now: number, config: PublicConfig): Step {
  const { row, rowStatus, appointment, offer, slots, absent } = known;
  const isStillAffected = appointment !== undefined && isAffected(appointment, slots, absent);
  const isOpen = offer !== undefined && isOpenOffer(offer, now, config);
  if (rowStatus === 'call') {
    // An open personal offer to a person on the call list is withdrawn once the appointment is no longer affected.
    return isStillAffected ? nothing : isOpen ? end('call', true) : { do: 'tick' };
  }
  if (rowStatus !== 'waiting' && rowStatus !== 'offered') {
    return nothing;
  }
  if (offer && isAccepted(offer, config)) {
    return end('moved');
  }
  if (!isStillAffected) {
    const isGone = !appointment || appointment.status === 'cancelled' || appointment.status === 'entered-in-error';
    return end(isGone ? 'declined' : isElsewhere(known) ? 'moved' : 'over', isOpen);
  }
  if (!offer) {
    return row.proposal ? { do: 'offer' } : end('call');
  }
  if (isOpen) {
    return isOfferAbsent(known) ? { do: 'renew' } : nothing;
  }
  if (hasGivenWay(offer, config)) {
    return row.tries < MAX_TRIES ? { do: 'renew' } : end('call');
  }
  return hasRunOut('offer', offer, now, config) ? inSilence[row.silence] : { do: 'cancel' };
}

/** Whether somebody has moved the appointment since the absence found it. */
const isElsewhere = ({ row, appointment }: Known): boolean =>
  row.start !== undefined && appointment?.start !== undefined && Date.parse(appointment.start) !== row.start;

const isOfferAbsent = ({ offer, together, slots, absent }: Known): boolean =>
  [...(offer ? [offer] : []), ...together].some((appointment) =>
    isAffected({ ...appointment, status: 'booked' }, slots, absent),
  );
