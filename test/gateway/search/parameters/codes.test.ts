import { expect, test } from '@jest/globals';
import { rewriteCodes } from '../../../../gateway/search/parameters/codes.ts';

const system = 'http://hl7.org/fhir/slotstatus';

test.each([
  ['free', 'free'],
  [`${system}|free`, 'free'],
  ['|free', 'free'],
  [`busy,|free,${system}|busy-tentative`, 'busy,free,busy-tentative'],
  ['urn:x|free', 'urn:x|free'],
  [`urn:${system}|free`, `urn:${system}|free`],
  [`${system}/2|free`, `${system}/2|free`],
  [system, system],
])('%s is looked for as %s', (value, expected) => {
  expect(rewriteCodes({ name: 'status', value }, system)).toBe(expected);
});

test.each(['', '|', `${system}|`, 'free,', `free,${system}|`, ',free'])('%j has no code', (value) => {
  expect(rewriteCodes({ name: 'status', value }, system)).toEqual({
    code: 'malformed-request',
    diagnostics: "'status' must have a code, also after 'http://hl7.org/fhir/slotstatus|'.",
    expression: 'http.status',
  });
});
