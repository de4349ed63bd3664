import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import {
  countAsked,
  countingParams,
  isCountedInPart,
  totalOf,
  withTotal,
} from '../../../../gateway/search/result/result-total.ts';
import { formatQuery, parseQuery } from '../../../../gateway/search/rewrite.ts';

const params = (query: string) => [...new URLSearchParams(query)].map(([name, value]) => ({ name, value }));

describe('how a search is counted', () => {
  test.each([
    ['Patient', 'family=a', 'family=a&_total=accurate'],
    ['Patient', 'family=a&_total=none', 'family=a&_total=none'],
    ['Patient', '_count=0&_total=none', '_count=0&_total=accurate'],
    ['Patient', '_count=00', '_count=00&_total=accurate'],
    ['Patient', '_summary=count&_total=estimate', '_summary=count&_total=accurate'],
    ['Patient', '_summary=text&_total=none', '_summary=text&_total=none'],
    ['Patient', 'given=count&_total=none', 'given=count&_total=none'],
    ['Patient', 'given=0&_total=none', 'given=0&_total=none'],
    ['Slot', 'status=busy', 'status=busy&_total=none'],
    ['Slot', 'status=busy&_count=5', 'status=busy&_count=5&_total=none'],
    ['Slot', 'schedule=Schedule/1', 'schedule=Schedule/1&_total=accurate'],
    ['Slot', '_id=1', '_id=1&_total=accurate'],
    ['Slot', 'identifier=a', 'identifier=a&_total=accurate'],
    ['Slot', '_total=estimate', '_total=estimate'],
    ['Slot', '_count=0', '_count=0&_total=accurate'],
  ] as const)('%s?%s: %s', (type, query, expected) => {
    expect(formatQuery(withTotal(params(query), isCountedInPart(type, params(query))))).toBe(
      new URLSearchParams(expected).toString(),
    );
  });

  test.each([
    ['Slot', 'status=busy', true],
    ['Slot', 'schedule=a', false],
    ['Slot', '_total=none', false],
    ['Slot', '_summary=count', false],
    ['Schedule', 'actor=a', false],
  ] as const)('%s?%s is counted up to a limit: %s', (type, query, expected) => {
    expect(isCountedInPart(type, params(query))).toBe(expected);
  });

  test('nothing that shapes a page is counted', () => {
    const shaped =
      '_count=2&_offset=2&_cursor=x&_sort=start&_summary=text&_elements=id&_fields=id&_include=Slot:schedule&_revinclude=x&_include:iterate=y';
    expect(formatQuery(countingParams(params(`status=busy&${shaped}&_tag=a`)))).toBe(
      'status=busy&_tag=a&_fields=id&_count=1000',
    );
  });
});

test.each([
  ['status=busy&_count', true],
  ['status=busy&_count=', true],
  ['status=busy&_count=%20', true],
  ['status=busy&_count=5', false],
  ['status=busy', false],
  ['status=busy&_count&_total=none', false],
])('%s asks for the number: %s', (query, isAsked) => {
  const sent = parseQuery(query);
  const asked = countAsked(sent, ['', query]);
  expect(asked).toEqual(isAsked ? [...sent, { name: '_total', value: 'accurate' }] : sent);
});

describe('the total of a page', () => {
  const match = { search: { mode: 'match' as const } };
  const page = (more: Partial<Bundle>): Bundle => ({ resourceType: 'Bundle', type: 'searchset', ...more });
  const next = [{ relation: 'next', url: 'x' }];

  test('is the number of its matches, if it is the only one', () => {
    expect(totalOf(page({ entry: [match, match, { search: { mode: 'include' } }, {}] }), true)).toBe(3);
    expect(totalOf(page({ link: [{ relation: 'self', url: 'x' }] }), true)).toBe(0);
  });

  test('is not known, if there are others', () => {
    expect(totalOf(page({ entry: [match] }), false)).toBeUndefined();
    expect(totalOf(page({ entry: [match], link: [...next, { relation: 'self', url: 'x' }] }), true)).toBeUndefined();
  });
});
