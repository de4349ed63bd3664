import { describe, expect, test } from '@jest/globals';
import type { CodeSystem, Coding, Resource } from '@medplum/fhirtypes';
import { readContextTypeValue } from '../../../../gateway/search/parameters/context-type-value.ts';

const resource = (code: Coding | undefined, ...values: Coding[]): Resource =>
  ({ resourceType: 'CodeSystem', useContext: [{ code, valueCodeableConcept: { coding: values } }] }) as CodeSystem;

const matches = (value: string, one: Resource): boolean => {
  const search = readContextTypeValue(value);
  return 'matches' in search && search.matches(one);
};

const schedule = resource({ system: 'urn:t', code: 'use' }, { system: 'urn:r', code: 'Schedule' });
const inWords = resource({ code: 'use' }, { code: 'Schedule' });

describe('context-type-value', () => {
  test.each([
    ['urn:t|use$urn:r|Schedule', true, false],
    ['use$Schedule', true, true],
    ['|use$|Schedule', false, true],
    ['urn:t|use$Schedule', true, false],
    ['use$|Schedule', false, true],
    ['urn:t|$urn:r|', true, false],
    ['urn:t|other$urn:r|Schedule', false, false],
    ['urn:other|use$urn:r|Schedule', false, false],
    ['urn:t|use$urn:r|Slot', false, false],
    ['urn:t|use$urn:other|Schedule', false, false],
    ['a$b,use$Schedule', true, true],
  ])('%s finds codes with systems (%s), and without (%s)', (value, withSystems, without) => {
    expect([matches(value, schedule), matches(value, inWords)]).toEqual([withSystems, without]);
  });

  test('both halves must be in one useContext, the second among any of its codings', () => {
    const value = 'use$Schedule';
    expect(matches(value, resource({ code: 'use' }, { code: 'Slot' }, { code: 'Schedule' }))).toBe(true);
    const apart = {
      resourceType: 'CodeSystem',
      useContext: [
        { code: { code: 'use' }, valueCodeableConcept: { coding: [{ code: 'Slot' }] } },
        { code: { code: 'other' }, valueCodeableConcept: { coding: [{ code: 'Schedule' }] } },
      ],
    } as CodeSystem;
    expect(matches(value, apart)).toBe(false);
  });

  test('what has no such element is not found', () => {
    const bare = { resourceType: 'CodeSystem', useContext: [{ code: { code: 'use' } }] } as unknown as CodeSystem;
    const strange = { resourceType: 'CodeSystem', useContext: 'use' } as unknown as CodeSystem;
    const all: Resource[] = [
      bare,
      strange,
      { resourceType: 'Slot' } as Resource,
      resource(undefined, { code: 'Schedule' }),
    ];
    expect(all.filter((one) => matches('use$Schedule', one))).toEqual([]);
    expect(matches('|$|', resource(undefined, {}))).toBe(false);
    expect(matches('use$|', bare)).toBe(false);
  });

  test('separators after a backslash are part of a value', () => {
    const odd = resource({ system: 'a|b', code: 'c$d' }, { system: 'e,f', code: 'g\\h' });
    expect(matches('a\\|b|c\\$d$e\\,f|g\\\\h', odd)).toBe(true);
    expect(matches('a\\|b|c\\$d$e\\,f|gh', odd)).toBe(false);
    const inLines = resource({ code: 'a\nb' }, { code: 'c' });
    expect(matches('a\\\nb$c', inLines)).toBe(true);
    expect(matches('a$c\\', resource({ code: 'a' }, { code: 'c\\' }))).toBe(true);
  });

  test.each(['', 'a', 'a$', '$b', 'a$b$c', 'a$b,', 'a\\$b', 'a$b,c'])('%j has not the form', (value) => {
    expect(readContextTypeValue(value)).toEqual({
      code: 'malformed-request',
      diagnostics: "'context-type-value' must have the form 'system|code$system|code'.",
      expression: 'http.context-type-value',
    });
  });
});
