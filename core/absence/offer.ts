import type { Appointment, CodeableConcept, Schedule } from '@medplum/fhirtypes';
import { inOtherCalendars } from '../booking/appointment/actors.ts';
import { otherReason } from '../booking/appointment/expiry.ts';
import type { BookingConfig } from '../config/config.ts';
import { formatInstant } from '../fhir/instant.ts';
import { REPLACES } from '../fhir/reserved.ts';
import type { Proposal } from './plan.ts';

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
  const { id: _, meta: __, identifier: ___, created: ____, extension = [], ...said } = appointment;
  const kept = extension.filter(({ url }) => url !== REPLACES);
  return {
    ...said,
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
