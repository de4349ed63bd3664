import type { CodeableConcept } from '@medplum/fhirtypes';
import { specialtyIssues } from '../../core/booking/appointment/publisher-rules.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';

/** The code system of a specialty that is given as a mere code: the publisher's, where its profiles demand one. */
const usualSystem = (config: BookingConfig): string =>
  config.appointmentRules?.specialty[0]?.systems[0] ?? artefactUri(config, 'LocalSpecialty');

function concept(text: string, config: BookingConfig): CodeableConcept {
  const at = text.lastIndexOf('|');
  const system = at < 0 ? usualSystem(config) : text.slice(0, at);
  const code = text.slice(at + 1);
  if (!system || !code) {
    throw new Error(`Write --specialty as a code or as system|code, not '${text}'.`);
  }
  return { coding: [{ system, code }] };
}

/**
 * The specialties that the option `--specialty` gives.
 *
 * @throws Error that says how specialties are written
 */
export const specialtiesFrom = (texts: readonly string[] | undefined, config: BookingConfig): CodeableConcept[] =>
  (texts ?? []).map((text) => concept(text, config));

/**
 * Refuses what the publisher's profiles do not allow schedules and services.
 *
 * @param type - of the resource that has these specialties
 * @throws Error that says how to give a specialty
 */
export function requireSpecialty(
  specialties: readonly CodeableConcept[],
  type: 'HealthcareService' | 'Schedule',
  { appointmentRules: rules }: BookingConfig,
): void {
  if (!rules) {
    return;
  }
  const problems = specialtyIssues(specialties, type, rules.specialty).map(({ diagnostics }) => diagnostics);
  if (specialties.length === 0 || problems.length > 0) {
    const hint = `Give --specialty: a code from ${rules.specialty[0]?.systems.join(' or ')}, such as ALLG, or system|code.`;
    throw new Error([`The profiles of this installation demand a specialty. ${hint}`, ...problems].join('\n'));
  }
}
