import { expect, test } from '@jest/globals';
import { checkControl } from '../../../../gateway/search/result/result-parameters.ts';

const check = (name: string, value: string) => checkControl('Slot', { name, value });

test.each([
  [
    '_count',
    ['0', '20', '1000', '0999'],
    ['1001', '-1', '+1', '1e2', '10000', '00001', 'x', '1 ', 'a1'],
    'a number from 0 to 1000',
  ],
  ['_offset', ['0', '999999'], ['-1', '1000000', '1.5', 'a1', '1a'], 'a number from 0 to 999999'],
  ['_total', ['none', 'estimate', 'accurate'], ['maybe', 'NONE'], 'one of none, estimate, accurate'],
  ['_summary', ['true', 'false', 'text', 'data', 'count'], ['yes'], 'one of true, false, text, data, count'],
  [
    '_elements',
    ['start', 'start,end'],
    ['start,', ',start', 'start, end', 'a.b', '*', ''],
    'a comma-separated list of element names',
  ],
  ['_fields', ['start,end'], ['start,,end'], 'a comma-separated list of element names'],
] as const)('%s takes %j, not %j', (name, good, bad, must) => {
  expect(good.filter((value) => check(name, value))).toEqual([]);
  for (const value of bad) {
    expect([value, check(name, value)]).toEqual([
      value,
      { code: 'malformed-request', diagnostics: `'${name}' must be ${must}.`, expression: `http.${name}` },
    ]);
  }
});

test('_sort names search parameters that Medplum knows by the same name', () => {
  const sort = (type: 'Slot' | 'HealthcareService' | 'CodeSystem' | 'Encounter', value: string) =>
    checkControl(type, { name: '_sort', value })?.diagnostics;
  expect(['start', '-start', 'start,-status,_id'].map((value) => sort('Slot', value))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(sort('Slot', 'start,-color')).toBe("'_sort' cannot be '-color': it must name search parameters of Slot.");
  expect(sort('Slot', 'sta-rt')).toContain("'sta-rt'");
  expect(sort('HealthcareService', 'type')).toContain('HealthcareService');
  expect(sort('CodeSystem', 'context-type-value')).toContain('CodeSystem');
  expect(sort('Encounter', 'date-start')).toContain('Encounter');
});

test.each(['_include', '_include:iterate', '_revinclude', '_revinclude:iterate'])(
  '%s follows references within the service',
  (name) => {
    const good = ['Slot:schedule', 'Slot:schedule:Schedule', 'Schedule:actor', 'Schedule:actor:Practitioner'];
    const bad = [
      'Slot',
      'Slot:start',
      'Slot:schedule:Patient',
      'Slot:schedule:Schedule:x',
      'Bot:owner',
      'Bot:owner:Patient',
      'Slot:start:Schedule',
      'Slot:schedule:',
      '*',
      ':schedule',
      'Encounter:account',
    ];
    expect(good.filter((value) => check(name, value))).toEqual([]);
    expect(bad.map((value) => check(name, value)?.diagnostics)).toEqual(
      bad.map(
        () =>
          `'${name}' must have the form 'Type:parameter' or 'Type:parameter:Target', with a reference parameter and types of this service.`,
      ),
    );
  },
);

test('_cursor is what Medplum has made', () => {
  const good = ['a', 'A-b_c.d,1', 'x'.repeat(4_000)];
  const bad = ['', 'a b', 'a&b', 'a=', 'x'.repeat(4_001)];
  expect(good.filter((value) => check('_cursor', value))).toEqual([]);
  expect(bad.map((value) => check('_cursor', value)?.diagnostics)).toEqual(
    bad.map(() => "'_cursor' must come from a link of an earlier response."),
  );
});
