import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { narrativeProblem } from '../../../../core/fhir/narrative/narrative.ts';
import { NARRATIVE_PATTERN } from '../../../../core/fhir/narrative/narrative-pattern.ts';

const pattern = new RegExp(NARRATIVE_PATTERN);

const div = (inner: string): string => `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`;

describe('a narrative is safe', () => {
  test.each([
    'Text',
    '<p>One &lt; two &amp; <b>three</b><br/></p>',
    '<table class="grid"><tr><td colspan="2" style="color: rgb(1, 2, 3); text-align:center">x</td></tr></table>',
    '<a href="https://example.org/a?b=c">x</a><a href="mailto:a@example.org">y</a><a href="#z" name="z">z</a>',
    '<a href="Patient/1">x</a>',
    '<img src="#picture" alt="x"/>',
    '<img src="data:image/png;base64,iVBORw0KGgo=" alt="x"/>',
    '<span xml:lang="de">Grüße&#160;</span>',
  ])('with %s', (inner) => {
    expect(narrativeProblem(div(inner))).toBeUndefined();
    expect(div(inner)).toMatch(pattern);
  });
});

const unsafe: readonly (readonly [what: string, text: string])[] = [
  ['a script', div('<script>alert(1)</script>')],
  ['a script in capitals', div('<SCRIPT>alert(1)</SCRIPT>')],
  ['a handler', div('<p onclick="alert(1)">x</p>')],
  ['a link to a script', div('<a href="javascript:alert(1)">x</a>')],
  ['a link to a script, disguised', div('<a href="java&#9;script:alert(1)">x</a>')],
  ['a link to a script after a blank', div('<a href=" javascript:alert(1)">x</a>')],
  ['a link to data', div('<a href="data:text/html,x">x</a>')],
  ['an image that another host serves', div('<img src="https://example.org/x.png"/>')],
  ['an image that is a drawing', div('<img src="data:image/svg+xml;base64,AAAA"/>')],
  ['a frame', div('<iframe src="#x"/>')],
  ['a form', div('<form><input/></form>')],
  ['a drawing', div('<svg onload="alert(1)"/>')],
  ['another namespace', div('<p xmlns="http://www.w3.org/2000/svg">x</p>')],
  ['a prefix', '<h:div xmlns:h="http://www.w3.org/1999/xhtml">x</h:div>'],
  ['a style that loads', div('<p style="background: url(https://example.org/x)">x</p>')],
  ['a style that runs', div('<p style="width: expression(alert(1))">x</p>')],
  ['a style with escapes', div('<p style="background: \\75rl(x)">x</p>')],
  ['a style that covers the page', div('<p style="position: fixed; top: 0">x</p>')],
  ['a comment', div('x<!--[if IE]><script>alert(1)</script><![endif]-->')],
  ['a CDATA section', div('<![CDATA[<<<<]]>')],
  ['a document type', `<!DOCTYPE div [<!ENTITY x "y">]>${div('&x;')}`],
  ['an instruction', div('<?php x ?>x')],
  ['an unknown entity', div('&nbsp;')],
  ['a tag that is open', '<div><p>x</div>'],
  ['two roots', '<div>x</div><div>y</div>'],
  ['another root', '<p>x</p>'],
  ['text alone', 'x'],
  ['nothing', ''],
  ['too much', div('x'.repeat(70_000))],
];

describe('a narrative is refused', () => {
  test.each(unsafe)('that has %s', (_, text) => {
    expect(narrativeProblem(text)).toEqual(expect.any(String));
  });

  test('whatever is accepted has angle brackets only where tags begin and end', () => {
    const part = fc.constantFrom(
      '<',
      '>',
      '<p>',
      '</p>',
      '&lt;',
      '<br/>',
      '"',
      "='",
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      'x',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = div(parts.join(''));
        fc.pre(narrativeProblem(text) === undefined);
        expect(text.replace(/<\/?[a-z]+[^<>]*>/g, '')).not.toContain('<');
      }),
      { numRuns: 3_000 },
    );
  });
});

/** What only a parser finds out, and does no harm where a browser shows it. */
const harmless = /^(an unknown entity|a tag that is open|two roots|too much)$/;

describe('the pattern that Medplum judges narratives by', () => {
  test.each(unsafe.filter(([what]) => !harmless.test(what)))('refuses one that has %s', (_, text) => {
    expect(text).not.toMatch(pattern);
  });

  test.each([
    ['quotes of the other kind', "<p title='\"' onclick='alert(1)'>x</p>"],
    ['a handler in capitals', '<p ONCLICK="alert(1)">x</p>'],
    ['a handler without a blank before it', '<p title="x"onclick="alert(1)">x</p>'],
    ['a handler behind a slash', '<p/onclick="alert(1)">x</p>'],
    ['a link without quotes', '<a href=javascript:alert(1)>x</a>'],
    ['a link to a script behind an entity', '<a href="javascript&colon;alert(1)">x</a>'],
    ['a link to a script, in the other quotes', "<a href='javascript:alert(1)'>x</a>"],
    ['a style in the other quotes that loads', "<p style='background: url(x)'>x</p>"],
    ['a style that covers the page, in capitals', '<p style="POSITION: fixed">x</p>'],
    ['a tag that never ends', '<p title="x'],
  ])('refuses one that has %s', (_, inner) => {
    expect(div(inner)).not.toMatch(pattern);
    expect(narrativeProblem(div(inner))).toEqual(expect.any(String));
  });

  test('accepts whatever the service accepts of tags, attributes and text', () => {
    const part = fc.constantFrom(
      '<p>',
      '</p>',
      '<br/>',
      '<b title="x">',
      '</b >',
      '<a href="#x">',
      '</a>',
      "<i class='x' >",
      '</i>',
      'x > y',
      '&lt;script&gt;',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = div(parts.join(''));
        fc.pre(narrativeProblem(text) === undefined);
        expect(text).toMatch(pattern);
      }),
      { numRuns: 2_000 },
    );
  });
});
