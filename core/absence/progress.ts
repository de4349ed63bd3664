import type { Appointment, Slot } from '@medplum/fhirtypes';
import { hasGivenWay } from '../booking/appointment/collision.ts';
import { hasRunOut, isHold, isOpenOffer } from '../booking/appointment/expiry.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import type { Absent } from './plan.ts';
import { type Affected, type AffectedStatus, isAffected } from './rows.ts';

/** What is known of an appointment that an absence affects. */
export interface Known {
  readonly row: Affected;
  readonly standing: AffectedStatus;
  /** As it is stored; `undefined` if it was deleted. */
  readonly appointment: Appointment | undefined;
  /** What is offered in its place. */
  readonly offer: Appointment | undefined;
  /** What is offered together with it: the other steps of a visit. */
  readonly together: readonly Appointment[];
  /** The Slots of all of them. */
  readonly slots: readonly Slot[];
  /** When which Schedule is absent, by all absences that are looked after. */
  readonly absent: readonly Absent[];
}

/** What is to be done next for an appointment. */
export type Step =
  | { readonly do: 'nothing' }
  /** It has ended so; an offer that stands is withdrawn. */
  | {
      readonly do: 'end';
      readonly as: Extract<AffectedStatus, 'moved' | 'declined' | 'call' | 'over'>;
      readonly withdraws: boolean;
    }
  /** Whoever was to be called need not be called any more. */
  | { readonly do: 'tick' }
  | { readonly do: 'offer' }
  /** The time that was offered is itself absent by now, or staff have given it to somebody else. */
  | { readonly do: 'renew' }
  /** The appointment is cancelled. */
  | { readonly do: 'cancel' }
  /** What was offered is booked although nobody has answered. */
  | { readonly do: 'move' };

/** How many times are offered at most, one after the other, because each is gone. */
export const MAX_TRIES = 3;

const nothing: Step = { do: 'nothing' };

const end = (as: Extract<AffectedStatus, 'moved' | 'declined' | 'call' | 'over'>, withdraws = false): Step => ({
  do: 'end',
  as,
  withdraws,
});

/** Whether an offer was accepted, whatever became of the appointment then: it is a hold no longer. */
const isAccepted = (offer: Appointment, config: PublicConfig): boolean => !isHold(offer, config);

/** What follows from an offer to which nobody has answered in time. */
const inSilence = { keep: end('call'), cancel: { do: 'cancel' }, move: { do: 'move' } } as const satisfies Record<
  Affected['silence'],
  Step
>;

/**
 * What is to be done next for an appointment that an absence affects. It depends on what is stored alone: a run that is
 * interrupted, missed, or comes twice does no harm.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function nextStep(known: Known, now: number, config: PublicConfig): Step {
  const { row, standing, appointment, offer, slots, absent } = known;
  const isStill = appointment !== undefined && isAffected(appointment, slots, absent);
  const isStanding = offer !== undefined && isOpenOffer(offer, now, config);
  if (standing === 'call') {
    // What is held for somebody who is called goes with the appointment that it would replace.
    return isStill ? nothing : isStanding ? end('call', true) : { do: 'tick' };
  }
  if (standing !== 'waiting' && standing !== 'offered') {
    return nothing;
  }
  if (offer && isAccepted(offer, config)) {
    return end('moved');
  }
  if (!isStill) {
    const isGone = !appointment || appointment.status === 'cancelled' || appointment.status === 'entered-in-error';
    return end(isGone ? 'declined' : isElsewhere(known) ? 'moved' : 'over', isStanding);
  }
  if (!offer) {
    return row.proposal ? { do: 'offer' } : end('call');
  }
  if (isStanding) {
    return isOfferAbsent(known) ? { do: 'renew' } : nothing;
  }
  if (hasGivenWay(offer, config)) {
    return row.tries < MAX_TRIES ? { do: 'renew' } : end('call');
  }
  return hasRunOut('offer', offer, now, config) ? inSilence[row.silence] : { do: 'cancel' };
}

/** Whether somebody has moved the appointment: it is not where the absence has found it. */
const isElsewhere = ({ row, appointment }: Known): boolean =>
  row.start !== undefined && appointment?.start !== undefined && Date.parse(appointment.start) !== row.start;

const isOfferAbsent = ({ offer, together, slots, absent }: Known): boolean =>
  [...(offer ? [offer] : []), ...together].some((appointment) =>
    isAffected({ ...appointment, status: 'booked' }, slots, absent),
  );
