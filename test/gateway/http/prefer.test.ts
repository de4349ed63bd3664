import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePrefer, preferredHandling, preferredReturn, prefersAsync } from '../../../gateway/http/prefer.ts';

describe('Prefer (RFC 7240)', () => {
  test.each([
    ['return=minimal', 'minimal'],
    ['Return=MINIMAL', 'minimal'],
    ['respond-async, return=representation', 'representation'],
    ['return="OperationOutcome"; foo=bar', 'OperationOutcome'],
    ['foo="a, return=minimal", return = representation', 'representation'],
    ['return=minimal, return=representation', 'minimal'],
    ['foo; return=minimal', undefined],
    ['return', undefined],
    ['return=everything', undefined],
    ['return=mini=mal', undefined],
    ['return=x"minimal"', undefined],
    ['return="minimal"x', undefined],
    ['return="minimal', undefined],
    ['return=min/imal', undefined],
    ['return=<minimal>', undefined],
    ['respond-async, /, , return=minimal', 'minimal'],
    ['(, return=minimal', 'minimal'],
    ['return=minimal;a="b, return=representation', 'minimal'],
  ])('%s asks for %s', (header, expected) => {
    expect(preferredReturn(parsePrefer(header))).toBe(expected);
  });

  test.each([
    ['respond-async', true],
    ['RESPOND-ASYNC; wait=10', true],
    ['return=minimal,respond-async', true],
    ['foo="respond-async"', false],
    ['respond-asynchronously', false],
  ])('%s: asynchronous %s', (header, expected) => {
    expect(prefersAsync(parsePrefer(header))).toBe(expected);
  });

  test.each([
    ['handling=strict', 'strict'],
    ['Handling="LENIENT"', 'lenient'],
    ['return=minimal', undefined],
    ['handling=relaxed', undefined],
  ])('%s: unknown parameters are handled as %s', (header, expected) => {
    expect(preferredHandling(parsePrefer(header))).toBe(expected);
  });

  test.each([
    [undefined, []],
    ['', []],
    ['foo=', [['foo', '']]],
    [
      ['return=minimal', 'respond-async'],
      [
        ['return', 'minimal'],
        ['respond-async', ''],
      ],
    ],
    [
      'foo="a, b" ; x, bar',
      [
        ['foo', 'a, b'],
        ['bar', ''],
      ],
    ],
    ['foo="a\\', []],
    ['foo="a\\", bar', []],
    ['a b, "c", d/e=1, f=1', [['f', '1']]],
  ])('of %j these preferences are read: %j', (header, expected) => {
    expect([...parsePrefer(header)]).toEqual(expected);
  });

  test('escapes are read, parameters passed over', () => {
    expect([...parsePrefer('foo="a\\"b"; Bar=1; baz')]).toEqual([['foo', 'a"b']]);
  });

  test('what was written is read again, whatever the values', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, fc.string()), { selector: ([key]) => key }), (pairs) => {
        const header = pairs.map(([key, value]) => `${key}="${value.replace(/["\\]/g, '\\$&')}"`).join(' , ');
        expect([...parsePrefer(header)]).toEqual(pairs);
      }),
    );
  });

  test('no header is too strange', () => {
    fc.assert(fc.property(fc.string(), (header) => parsePrefer(header) instanceof Map));
  });
});
