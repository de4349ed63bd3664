import { describe, expect, test } from '@jest/globals';
import { rewriteString, splitAlternatives } from '../../../../gateway/search/parameters/strings.ts';

const apart = 'Mu\u0308ller';

describe('alternatives', () => {
  test.each<[string, string[]]>([
    ['a,b', ['a', 'b']],
    ['a\\,b,c', ['a\\,b', 'c']],
    ['a\\\\,b', ['a\\\\', 'b']],
    ['a,,b,', ['a', 'b']],
    ['a\nb', ['a\nb']],
    ['a\\\n,b', ['a\\\n', 'b']],
    ['a b', ['a b']],
    [',', []],
    ['', []],
  ])('of %j are %j', (value, expected) => {
    expect(splitAlternatives(value)).toEqual(expected);
  });
});

describe('the value of a string parameter', () => {
  const rewritten = (value: string, isWords: boolean, modifier?: string) => {
    const found = rewriteString('name', modifier, value, isWords);
    return 'value' in found ? `${found.name}=${found.value}` : `${found.code} ${found.expression}`;
  };

  test.each([
    ['Anna', 'name=Anna'],
    [' Anna , Eva ', 'name=Anna,Eva'],
    ["O'Hara-Meier (geb Alt)", "name=O'Hara-Meier (geb Alt)"],
    ['d’Artagnan', 'name=d’Artagnan'],
    ["'Anna'", "name='Anna'"],
    ['Meier\\, Eva', 'name=Meier\\, Eva'],
    [apart, 'name=Müller'],
    ['7', 'name=7'],
    ['St.Clair', 'name:contains=St.Clair'],
    ['.Anna', 'name:contains=.Anna'],
    ['Anna.', 'name:contains=Anna.'],
    ['Anna,St.Clair', 'name:contains=Anna,St.Clair'],
    ['😀', 'name:contains=😀'],
    ['-', 'name:contains=-'],
    ['Mü.', 'name:contains=Mü.,Mu\u0308.'],
  ])('in words: %j is %j', (value, expected) => {
    expect(rewritten(value, true)).toBe(expected);
  });

  test.each([
    ['Anna', undefined, false, 'name=Anna'],
    ['Müller', undefined, false, `name=Müller,${apart}`],
    ['St.Clair', undefined, false, 'name=St.Clair'],
    ['Anna', 'exact', true, 'name:exact=Anna'],
    [apart, 'exact', true, `name:exact=Müller,${apart}`],
    ['a, b', 'contains', false, 'name:contains=a,b'],
  ])('%j with the modifier %s (in words: %s) is %j', (value, modifier, isWords, expected) => {
    expect(rewritten(value, isWords, modifier)).toBe(expected);
  });

  test.each([',', ' , ', '\\'])('%j has nothing to look for: the issue says so', (value) => {
    expect(rewriteString('name', undefined, value, true)).toEqual({
      code: 'malformed-request',
      expression: 'http.name',
      diagnostics: "'name' has no value to look for. A comma or a backslash itself is written as '\\,' or '\\\\'.",
    });
  });
});
