import type { Appointment, Meta } from '@medplum/fhirtypes';
import { isObject } from '../../fhir/resource.ts';

/** Marks that a caller may do so with everything of a type. */
const EVERYTHING = 'Appointment';

/** The appointments that a rule of an AccessPolicy is about. What only Medplum's own searches would let pass is none. */
function criteriaOf({ resourceType, criteria, compartment }: Record<string, unknown>): string[] {
  const [type, query] = typeof criteria === 'string' ? criteria.split(/\?(.*)/s) : [resourceType];
  const within = isObject(compartment) ? `_compartment=${compartment.reference}` : undefined;
  const parts = [within, query].filter(Boolean).join('&');
  return type === resourceType ? [parts ? `${EVERYTHING}?${parts}` : EVERYTHING] : [];
}

/** The rules about an interaction with appointments: for an appointment, the first that it meets counts. */
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
 * The appointments that a caller may read, or change whole, as search criteria, one of which an appointment must meet: taken
 * from the rules of the AccessPolicy that Medplum has worked out for the caller (`GET /auth/me`). Medplum itself evaluates
 * the criteria later; nothing of how it compares is repeated here.
 *
 * @param me - Medplum's answer
 * @returns `Appointment`, or criteria as in an AccessPolicy (`Appointment?_tag=…`); empty if there is no such appointment
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function permittedAppointments(me: unknown, wanted: 'read' | 'update' = 'read'): string[] {
  const rules = rulesFor(me, wanted);
  // Medplum keeps such fields where it is written to directly: what is written for the caller here would lose or change them.
  const isPartial =
    hidesFields(me) || rules.some((rule) => rule.hiddenFields ?? rule.readonlyFields ?? rule.writeConstraint);
  const criteria = wanted === 'update' && isPartial ? [] : rules.flatMap(criteriaOf);
  return criteria.includes(EVERYTHING) ? [EVERYTHING] : [...new Set(criteria)];
}

/** Whether a caller does not see all of the appointments that it may read. */
export const hidesFields = (me: unknown): boolean =>
  rulesFor(me, 'read').some(({ hiddenFields }) => hiddenFields !== undefined);

/**
 * The search that finds those of some appointments that meet the criteria.
 *
 * @param criteria - one of `permittedAppointments`
 * @param ids - of the appointments
 */
export function readableQuery(criteria: string, ids: readonly string[]): string {
  const [, query = ''] = criteria.split(/\?(.*)/s);
  const among = `_id=${ids.join(',')}&_count=1000&_fields=id`;
  return `Appointment?${query ? `${query}&` : ''}${among}`;
}

/** Whether a resource has a tag, written as in a search: `system|code`. */
function hasTag({ tag = [] }: Meta, token: string): boolean {
  return tag.some(({ system = '', code = '' }) => token === `${system}|${code}`);
}

/**
 * Whether a subscriber could read an appointment that was deleted. Medplum no longer finds it, so the criteria are
 * evaluated here: those by tag, the only ones that the policies of the service have. With other criteria, the subscriber
 * is taken to have been able to read what it was told of before.
 *
 * @param readable - criteria, as `permittedAppointments` returns them
 * @param appointment - as it was last
 * @param wasTold - whether it has an event about this appointment
 */
export function couldRead(readable: readonly string[], { meta = {} }: Appointment, wasTold: boolean): boolean {
  return readable.some((criteria) => {
    const [, query = ''] = criteria.split(/\?(.*)/s);
    const parameters = [...new URLSearchParams(query)];
    return parameters.every(([name]) => name === '_tag')
      ? parameters.every(([, value]) => value.split(',').some((token) => hasTag(meta, token)))
      : wasTold;
  });
}
