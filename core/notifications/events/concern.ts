import type { Identifier, Meta } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';

/** The largest number of tags in a search for outboxes. With more tags, all outboxes are read. */
const MAX_TAGS = 50;

/** The identifier for criteria without a tag, which any appointment may meet. */
const anyAppointment = (config: PublicConfig): Identifier => ({
  system: artefactUri(config, 'LocalTask'),
  value: 'any-appointment',
});

/** Characters with a special meaning in a search value. */
const special = /[\\,|$\s]/;

/** The tags in `_tag` of criteria; `undefined` if there are none, or one is not exactly a system and a code. */
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
 * The tags, in lower case, of which an appointment must have one to concern a subscriber with these criteria. They only
 * narrow a search; Medplum decides whether the subscriber may read the appointment.
 */
export function concernTokens(readable: readonly string[], config: PublicConfig): Identifier[] {
  const tags = readable.map(tagsAskedFor);
  const isAny = tags.length === 0 || tags.some((one) => one === undefined);
  const identifiers = isAny ? [anyAppointment(config)] : tags.flatMap((one) => one ?? []);
  return [
    ...new Map(identifiers.map((identifier) => [`${identifier.system}|${identifier.value}`, identifier])).values(),
  ];
}

/** The tags of appointment versions as values of a search for outboxes. */
export function tagTokens(metas: readonly (Meta | undefined)[]): ReadonlySet<string> {
  const parts = metas.flatMap((meta) => meta?.tag ?? []).map(({ system = '', code = '' }) => [system, code]);
  const exact = parts.filter((pair) => pair.every((part) => part !== '' && !special.test(part)));
  return new Set(exact.map((pair) => pair.join('|').toLowerCase()));
}

/** The `identifier` value to search for outboxes that appointments with these tags concern; `undefined` to read all. */
export function concernQuery(tags: ReadonlySet<string>, config: PublicConfig): string | undefined {
  const { system, value } = anyAppointment(config);
  return tags.size > MAX_TAGS ? undefined : [...tags, `${system}|${value}`].join(',');
}
