import type { Identifier, Meta } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';

/** The most tags of an appointment by which outboxes are searched; with more of them, all outboxes are read. */
const MAX_TAGS = 50;

/** Stands for criteria that do not ask for a tag: any appointment may meet them. */
const anyAppointment = (config: PublicConfig): Identifier => ({
  system: artefactUri(config, 'LocalTask'),
  value: 'any-appointment',
});

/** Characters that have another meaning in a search value. */
const special = /[\\,|$\s]/;

/** The tags of which criteria demand one; `undefined` if the criteria can be met without any of them. */
function tagsAskedFor(criteria: string): Identifier[] | undefined {
  const [, query = ''] = criteria.split(/\?(.*)/s);
  const asked = [...new URLSearchParams(query)].find(([name]) => name === '_tag')?.[1];
  const tokens = asked?.split(',').map((token) => token.split('|'));
  const isExact = tokens?.every((parts) => parts.length === 2 && parts.every((part) => part && !special.test(part)));
  return isExact ? tokens?.map(([system, value]) => lowerCase({ system, value })) : undefined;
}

const lowerCase = ({ system = '', value = '' }: Identifier): Identifier => ({
  system: system.toLowerCase(),
  value: value.toLowerCase(),
});

/**
 * What an appointment must have to be told to a subscriber: one of these tags, in lower case. It only narrows a search;
 * Medplum is asked whether a subscriber may read an appointment.
 *
 * @param readable - criteria of the appointments that the subscriber may read, one of which must be met
 */
export function concernTokens(readable: readonly string[], config: PublicConfig): Identifier[] {
  const tags = readable.map(tagsAskedFor);
  const isAny = tags.length === 0 || tags.some((one) => one === undefined);
  const identifiers = isAny ? [anyAppointment(config)] : tags.flatMap((one) => one ?? []);
  return [
    ...new Map(identifiers.map((identifier) => [`${identifier.system}|${identifier.value}`, identifier])).values(),
  ];
}

/** The tags of versions of appointments, by which outboxes are searched. */
export function tagTokens(metas: readonly (Meta | undefined)[]): ReadonlySet<string> {
  const parts = metas.flatMap((meta) => meta?.tag ?? []).map(({ system = '', code = '' }) => [system, code]);
  const exact = parts.filter((pair) => pair.every((part) => part !== '' && !special.test(part)));
  return new Set(exact.map((pair) => pair.join('|').toLowerCase()));
}

/**
 * The value of a search by `identifier` for the outboxes that appointments with these tags concern; `undefined` if all
 * are to be read.
 */
export function concernQuery(tags: ReadonlySet<string>, config: PublicConfig): string | undefined {
  const { system, value } = anyAppointment(config);
  return tags.size > MAX_TAGS ? undefined : [...tags, `${system}|${value}`].join(',');
}
