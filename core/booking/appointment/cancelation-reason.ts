import type { CodeableConcept } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri, type BookingConfig } from '../../config/config.ts';
import { bookingErrors } from '../../fhir/outcome/errors.ts';

/** The part of the configuration that the reasons depend on. */
export type ReasonConfig = ArtefactConfig & Pick<BookingConfig, 'appointmentRules'>;

/** The code that publishers use for reasons without a code of their own. */
const OTHER = 'other';

/**
 * Why the service itself has cancelled an appointment: the service's own code and, where the publisher of the profile binds
 * the reasons and has a code `other`, that code, too.
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
