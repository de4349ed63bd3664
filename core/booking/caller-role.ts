import { isObject } from '../fhir/resource.ts';
import type { Changer } from './appointment/status.ts';

/** As whom somebody acts who is not the service itself. */
export type Role = Exclude<Changer, 'service'>;

/** Whether an entry of an AccessPolicy lets its holder change appointments in Medplum. */
function permitsChange(entry: unknown): boolean {
  if (!isObject(entry) || (entry.resourceType !== 'Appointment' && entry.resourceType !== '*')) {
    return false;
  }
  const { interaction, readonly } = entry;
  return Array.isArray(interaction) ? interaction.includes('update') : readonly !== true;
}

/**
 * The role in which a caller changes appointments. Clinic staff may change them directly in Medplum, by their AccessPolicy
 * or, like administrators, without one; callers who may only read them are requestors.
 *
 * @param me - Medplum's description of the caller (`GET auth/me`), not validated
 * @returns `undefined` if it does not identify the caller
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function roleOf(me: unknown): Role | undefined {
  if (!isObject(me) || !isObject(me.profile)) {
    return undefined;
  }
  const { accessPolicy } = me;
  if (accessPolicy === undefined || accessPolicy === null) {
    return 'repository';
  }
  const entries = isObject(accessPolicy) && Array.isArray(accessPolicy.resource) ? accessPolicy.resource : [];
  return entries.some(permitsChange) ? 'repository' : 'requestor';
}
