import type { CodeableConcept } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri, type BookingConfig } from '../../config/config.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';

/** The part of the configuration that the reasons depend on. */
export type ReasonConfig = ArtefactConfig & Pick<BookingConfig, 'appointmentRules'>;

/** What publishers call a reason for which they have no code of its own. */
const OTHER = 'other';

/**
 * Why the service itself has cancelled an appointment: its own code, and beside it one of the publisher's where the
 * publisher of the profile has bound the reasons.
 */
export function reasonOf(
  code: 'hold-expired' | 'confirmation-expired' | 'slot-not-free',
  text: string,
  config: ReasonConfig,
): CodeableConcept {
  const own = { system: artefactUri(config, 'LocalBookingError'), code, display: bookingErrors[code].display };
  const bound = config.appointmentRules?.cancelationReason;
  return { coding: [own, ...(bound?.codes.includes(OTHER) ? [{ system: bound.system, code: OTHER }] : [])], text };
}
