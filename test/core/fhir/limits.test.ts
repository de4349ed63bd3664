import { describe, expect, it, test } from '@jest/globals';
import { boundIssues, countValues, isDeeperThan, MOST_VALUES, sizeProblem } from '../../../core/fhir/bounds.ts';
import { narrativeIssues, textOf } from '../../../core/fhir/narrative/narrative.ts';
import { MOST_ISSUES, statusOf, toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { unsupportedIssues } from '../../../core/fhir/unsupported.ts';
import { told } from '../../lib/told.ts';
import { config } from '../booking/support.ts';

const SIZE = 5_000_000;

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let depth = 0; depth < levels; depth++) {
    value = depth % 2 === 0 ? [value] : { value };
  }
  return value;
}

describe('nesting', () => {
  it('is counted up to the limit', () => {
    expect([isDeeperThan(nested(4), 4), isDeeperThan(nested(5), 4), isDeeperThan('x', 0)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('of a hundred thousand levels is found without recursion', () => {
    expect(isDeeperThan(nested(100_000), 64)).toBe(true);
  });
});

describe('values', () => {
  it('are objects, lists and what they hold, counted no further than is needed', () => {
    expect(countValues({ a: [1, { b: 2 }], c: null }, 100)).toBe(6);
    expect(countValues(new Array(1_000_000).fill(0), 10)).toBe(11);
  });

  it('of a request are so many at most', () => {
    const list = (length: number) => new Array(length - 1).fill(0);
    expect(sizeProblem(list(MOST_VALUES))).toBeUndefined();
    expect(sizeProblem(list(MOST_VALUES + 1))).toMatch(/values/);
    expect(sizeProblem(nested(65))).toMatch(/levels/);
  });
});

test('a list over its bound is one issue, whatever is in it', () => {
  const issues = boundIssues({ slot: new Array(100_000).fill(0) }, { slot: 50 }, 'Appointment');
  expect(told(issues)).toEqual(['malformed-request Appointment.slot']);
  expect(boundIssues({ slot: new Array(50).fill(0) }, { slot: 50 }, 'Appointment')).toEqual([]);
});

describe('a narrative', () => {
  it('of five million characters is read once: the work grows with the text, not with its square', () => {
    expect(narrativeIssues({ text: { div: '<'.repeat(SIZE) } }, 'Patient')).toHaveLength(1);
    expect(narrativeIssues({ text: { div: `<${'a'.repeat(SIZE)}` } }, 'Patient')).toHaveLength(1);
    expect(textOf('<'.repeat(SIZE))).toHaveLength(SIZE);
    expect(textOf('<a>'.repeat(SIZE / 3))).toBe('');
  });

  it('is its text without tags and spaces', () => {
    expect(textOf('<div>&nbsp;<b>Yes</b>&#160;</div>')).toBe('Yes');
  });
});

describe('what the service cannot honour', () => {
  it.each([
    [{ implicitRules: 'urn:x' }, 'P.implicitRules'],
    [{ contained: [{ modifierExtension: [{ url: 'urn:x' }] }] }, 'P.contained[0].modifierExtension'],
    [{ _implicitRules: { id: 'x' } }, 'P._implicitRules'],
  ])('is refused: %j', (resource, expression) => {
    expect(unsupportedIssues(resource, 'P').map((issue) => [issue.code, issue.expression])).toEqual([
      ['malformed-request', expression],
    ]);
  });

  it('is nothing else', () => {
    const resource = { reference: 'Patient/1', extension: [{ url: 'urn:x' }], text: 'a?', list: [null, 1] };
    expect(unsupportedIssues(resource, 'P')).toEqual([]);
  });
});

describe('an outcome', () => {
  const issue = (code: 'slot-not-free' | 'malformed-request') => ({ code, diagnostics: 'x', expression: 'a' }) as const;

  it('holds fifty issues as they are', () => {
    const issues = Array.from({ length: MOST_ISSUES }, () => issue('slot-not-free'));
    expect(toOperationOutcome(issues, config).issue.map(({ expression }) => expression)).toEqual(
      issues.map(() => ['a']),
    );
  });

  it('of more says in the last how many there are, and keeps the status', () => {
    const issues = [...Array.from({ length: 60 }, () => issue('slot-not-free')), issue('malformed-request')];
    const outcome = toOperationOutcome(issues, config);
    expect(outcome.issue).toHaveLength(MOST_ISSUES);
    expect(outcome.issue.at(-1)).toMatchObject({ diagnostics: 'There are 12 more problems; solve these first.' });
    expect(outcome.issue.at(-1)?.details?.coding?.[0]?.code).toBe('malformed-request');
    expect([outcome.id, statusOf(issues)]).toEqual(['bad-request', 400]);
  });
});
