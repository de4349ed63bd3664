import type { ResourceType } from '@medplum/fhirtypes';
import { type Asking, asking, type Check } from '../check.ts';
import { findsOnly, has, status, that } from '../expectation.ts';

/** A search; `all` is FHIRPath that holds for all matches, `scenario` the end of the scenario's title. */
export type Search = readonly [by: string, query: string, all: string, scenario: string, format?: 'xml'];

interface Searched extends Pick<Asking, 'level' | 'section' | 'stages' | 'needs' | 'within'> {
  /** Placeholder of a resource that must be found. */
  readonly finds?: string;
}

/** A check that a search finds only matches. */
export const searchCheck = (
  type: ResourceType,
  [by, query, all, scenario, format]: Search,
  { finds, ...about }: Searched,
): Check =>
  asking({
    ...about,
    name: `search-${type.toLowerCase()}-by-${by}`,
    rule: `${type} is found by ${by.replaceAll('-', ' ')}, and nothing that does not match.`,
    request: `GET /${type}/?${query}`,
    format,
    expect: [...findsOnly(type, all), ...(finds ? [has(finds)] : [])],
    covers: [covered(type, scenario)],
  });

const covered = (type: ResourceType, scenario: string) => ({
  feature: `${type}-Search`,
  scenario: /^(by|with) /.test(scenario)
    ? `Search for ${type === 'Patient' ? '' : 'the '}${type} ${scenario}`
    : scenario,
});

/** A check that an empty `_count` is ignored. */
export const countCheck = (type: ResourceType, { finds: _, ...about }: Searched): Check =>
  asking({
    ...about,
    name: `search-${type.toLowerCase()}-with-empty-count`,
    rule: `A search for ${type} with an empty _count is answered as without _count, and says how many there are.`,
    request: `GET /${type}/?_count`,
    format: 'xml',
    expect: [status(200), that('total > 0 and entry.resource.count() > 0')],
    covers: [covered(type, 'by Count')],
  });
