import type { Appointment, Meta } from '@medplum/fhirtypes';
import { isObject } from '../../fhir/resource.ts';

/** Marks that everything of a type may be read. */
const EVERYTHING = 'Appointment';

/**
 * The appointments that a caller may read, as search criteria, one of which an appointment must meet: taken from the
 * rules of the AccessPolicy that Medplum has worked out for the caller (`GET /auth/me`). Medplum itself evaluates the
 * criteria later; nothing of how it compares is repeated here.
 *
 * @param me - Medplum's answer
 * @returns criteria as in an AccessPolicy (`Appointment`, `Appointment?_tag=…`); empty if no appointment may be read
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function readableAppointments(me: unknown): string[] {
  if (!isObject(me) || !isObject(me.profile)) {
    return [];
  }
  const policy = me.accessPolicy;
  if (policy === undefined) {
    return [EVERYTHING];
  }
  const rules = isObject(policy) && Array.isArray(policy.resource) ? policy.resource.filter(isObject) : [];
  const criteria = rules.flatMap(({ resourceType, criteria: rule, interaction }) => {
    const isAbout = resourceType === 'Appointment' || resourceType === '*';
    const mayRead = !Array.isArray(interaction) || interaction.includes('read');
    if (!isAbout || !mayRead) {
      return [];
    }
    return typeof rule === 'string' && rule.startsWith('Appointment?') ? [rule] : [EVERYTHING];
  });
  return criteria.includes(EVERYTHING) ? [EVERYTHING] : [...new Set(criteria)];
}

/**
 * The search that finds those of some appointments that meet the criteria.
 *
 * @param criteria - one of `readableAppointments`
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
 * @param readable - criteria, as `readableAppointments` returns them
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
