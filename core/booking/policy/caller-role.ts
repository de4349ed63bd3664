import type { ResourceType } from '@medplum/fhirtypes';
import { isObject } from '../../fhir/resource.ts';
import type { Changer } from '../appointment/status.ts';

/** The role of a caller that is not the service itself. */
export type Role = Exclude<Changer, 'service'>;

/** System of the tag by which the clinic marks the ClientApplication of an assistant. */
export const ASSISTANT_TAG = 'urn:appointment-booking:assistant';

/**
 * Whether a caller is an assistant.
 * @param me - Medplum's description of the caller (`GET auth/me`), not validated
 */
export function isAssistant(me: unknown): boolean {
  const profile = isObject(me) && isObject(me.profile) ? me.profile : {};
  const tag = isObject(profile.meta) && Array.isArray(profile.meta.tag) ? profile.meta.tag.filter(isObject) : [];
  return tag.some(({ system }) => system === ASSISTANT_TAG);
}

function permitsChange(entry: unknown, type: ResourceType): boolean {
  if (!isObject(entry) || (entry.resourceType !== type && entry.resourceType !== '*')) {
    return false;
  }
  const { interaction, readonly } = entry;
  return Array.isArray(interaction) ? interaction.includes('update') : readonly !== true;
}

/**
 * Whether Medplum itself lets a caller change resources of a type: by an AccessPolicy or, like administrators, without
 * one.
 * @param me - Medplum's description of the caller (`GET auth/me`), not validated
 */
export function mayChangeInMedplum(me: unknown, type: ResourceType): boolean {
  if (!isObject(me) || !isObject(me.profile)) {
    return false;
  }
  const { accessPolicy } = me;
  if (accessPolicy === undefined || accessPolicy === null) {
    return true;
  }
  const entries = isObject(accessPolicy) && Array.isArray(accessPolicy.resource) ? accessPolicy.resource : [];
  return entries.some((entry) => permitsChange(entry, type));
}

/**
 * The role in which a caller changes appointments. Staff may change them directly in Medplum, by their AccessPolicy or,
 * like administrators, without one. Callers with read access only are requestors.
 * @param me - Medplum's description of the caller (`GET auth/me`), not validated
 * @returns `undefined` if it does not identify the caller
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function roleOf(me: unknown): Role | undefined {
  if (!isObject(me) || !isObject(me.profile)) {
    return undefined;
  }
  return mayChangeInMedplum(me, 'Appointment') ? 'staff' : 'requestor';
}
