import type { Appointment } from '@medplum/fhirtypes';
import { type Bounds, boundIssues } from '../../fhir/bounds.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';

/** The most slots that one appointment can have. */
export const MOST_SLOTS = 50;

/** How many entries the lists of an appointment may have: each entry may cost a read or a write. */
export const appointmentBounds: Bounds = {
  slot: MOST_SLOTS,
  participant: 50,
  identifier: 50,
  supportingInformation: 50,
  contained: 50,
  extension: 50,
};

/**
 * Checks the lists of an appointment that is being changed. A list that is already longer may stay that long.
 *
 * @param result - of any content
 * @returns a `malformed-request` for each list that has grown beyond its bound
 */
export function grownListIssues(stored: Appointment, result: unknown): Issue[] {
  const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
  const known: Readonly<Record<string, unknown>> = isObject(stored) ? { ...stored } : {};
  const bounds = Object.entries(appointmentBounds).map(([name, most]) => [name, Math.max(most, lengthOf(known[name]))]);
  return boundIssues(result, Object.fromEntries(bounds), 'Appointment');
}
