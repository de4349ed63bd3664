import type { Appointment, Meta, ResourceType } from '@medplum/fhirtypes';
import { isObject } from '../../fhir/resource.ts';
import type { Changer } from '../appointment/status.ts';

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

/** Criteria without restrictions. */
const EVERYTHING = 'Appointment';

/** The criteria of one AccessPolicy rule. A rule that applies to Medplum's own searches only has none. */
function criteriaOf({ resourceType, criteria, compartment }: Record<string, unknown>): string[] {
  const [type, query] = typeof criteria === 'string' ? criteria.split(/\?(.*)/s) : [resourceType];
  const within = isObject(compartment) ? `_compartment=${compartment.reference}` : undefined;
  const parts = [within, query].filter(Boolean).join('&');
  return type === resourceType ? [parts ? `${EVERYTHING}?${parts}` : EVERYTHING] : [];
}

/** The rules for an interaction with appointments. The first rule that an appointment meets counts. */
function rulesFor(me: unknown, interaction: 'read' | 'update'): Record<string, unknown>[] {
  if (!isObject(me) || !isObject(me.profile)) {
    return [];
  }
  const policy = me.accessPolicy ?? { resource: [{ resourceType: EVERYTHING }] };
  const rules = isObject(policy) && Array.isArray(policy.resource) ? policy.resource.filter(isObject) : [];
  const own = rules
    .filter(({ resourceType }) => resourceType === EVERYTHING || resourceType === '*')
    .filter((rule) => !Array.isArray(rule.interaction) || rule.interaction.includes(interaction));
  const last = own.findIndex((rule) => criteriaOf(rule).includes(EVERYTHING));
  return last < 0 ? own : own.slice(0, last + 1);
}

/**
 * The appointments that a caller may read, or update without field restrictions, as search criteria. An appointment
 * must meet one of them. They come from the AccessPolicy that Medplum has resolved for the caller (`GET /auth/me`), and
 * Medplum evaluates them.
 * @param me - Medplum's response
 * @returns `Appointment`, or criteria as in an AccessPolicy (`Appointment?_tag=…`); empty if nothing is permitted
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function permittedAppointments(me: unknown, wanted: 'read' | 'update' = 'read'): string[] {
  const rules = rulesFor(me, wanted);
  // Medplum protects such fields in direct writes only. A write by the service on behalf of the caller would lose or
  // change them.
  const isPartial =
    hidesFields(me) || rules.some((rule) => rule.hiddenFields ?? rule.readonlyFields ?? rule.writeConstraint);
  const criteria = wanted === 'update' && isPartial ? [] : rules.flatMap(criteriaOf);
  return criteria.includes(EVERYTHING) ? [EVERYTHING] : [...new Set(criteria)];
}

export const hidesFields = (me: unknown): boolean =>
  rulesFor(me, 'read').some(({ hiddenFields }) => hiddenFields !== undefined);

/** The search for appointments among `ids` that meet one of `permittedAppointments`. */
export function readableQuery(criteria: string, ids: readonly string[]): string {
  const [, query = ''] = criteria.split(/\?(.*)/s);
  const among = `_id=${ids.join(',')}&_count=1000&_fields=id`;
  return `Appointment?${query ? `${query}&` : ''}${among}`;
}

function hasTag({ tag = [] }: Meta, token: string): boolean {
  return tag.some(({ system = '', code = '' }) => token === `${system}|${code}`);
}

/**
 * Whether a subscriber could read an appointment that was deleted. Medplum no longer finds it, so criteria by tag are
 * evaluated here; the policies of the service have no others. With other criteria, an earlier event about the
 * appointment (`wasNotified`) counts as access.
 */
export function couldRead(readable: readonly string[], { meta = {} }: Appointment, wasNotified: boolean): boolean {
  return readable.some((criteria) => {
    const [, query = ''] = criteria.split(/\?(.*)/s);
    const parameters = [...new URLSearchParams(query)];
    return parameters.every(([name]) => name === '_tag')
      ? parameters.every(([, value]) => value.split(',').some((token) => hasTag(meta, token)))
      : wasNotified;
  });
}
