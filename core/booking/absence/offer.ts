import type { Appointment, CodeableConcept, Schedule } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { REPLACES } from '../../fhir/reserved.ts';
import { otherReason } from '../appointment/expiry.ts';
import type { Proposal } from './plan.ts';

const actorsOf = (schedules: readonly Schedule[]): ReadonlySet<string | undefined> =>
  new Set(schedules.flatMap(({ actor }) => actor.map(({ reference }) => reference)));

/**
 * The appointment that is offered in place of another one: everything that this says, at another time or with others.
 *
 * @param left - the Schedules that it no longer needs
 * @param joined - those that it needs now and did not before
 */
export function offerInstead(
  appointment: Appointment,
  { slots, start, end }: Omit<Proposal, 'schedule'>,
  left: readonly Schedule[],
  joined: readonly Schedule[],
): Appointment {
  const { id: _, meta: __, identifier: ___, created: ____, extension = [], ...said } = appointment;
  const [gone, known] = [actorsOf(left), actorsOf(joined)];
  const isGone = (reference: string | undefined): boolean => gone.has(reference) && !known.has(reference);
  const stay = appointment.participant.filter(({ actor }) => !isGone(actor?.reference));
  const present = new Set(stay.map(({ actor }) => actor?.reference));
  // Whoever did not say with whom is told by the calendar.
  const added = stay.length < appointment.participant.length ? joined.flatMap(({ actor }) => actor) : [];
  const kept = extension.filter(({ url }) => url !== REPLACES);
  return {
    ...said,
    ...(kept.length > 0 && { extension: kept }),
    status: 'proposed',
    start: formatInstant(start),
    end: formatInstant(end),
    slot: slots.map((slot) => ({ reference: `Slot/${slot}` })),
    participant: [
      ...stay,
      ...added
        .filter(({ reference }) => reference && !present.has(reference))
        .map((actor) => ({ actor, status: 'accepted' as const })),
    ],
  };
}

const texts = {
  cancel: 'The clinic is absent at this time.',
  withdraw: 'What was offered is no longer needed, or no longer possible.',
} as const;

/** Why the service cancels an appointment that cannot take place, or withdraws what it has offered. */
export function absenceReason(what: keyof typeof texts, config: BookingConfig): CodeableConcept {
  const coding = otherReason(config);
  return { ...(coding.length > 0 && { coding }), text: texts[what] };
}
