import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { flag, html } from '../html.ts';

test('values are text, markup comes from templates alone', () => {
  const name = `<img src=x onerror="alert('1')"> & co`;
  expect(html`<p title="${name}">${[html`<b>${name}</b>`, 1, undefined, null, false]}</p>`.text).toBe(
    '<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; co">' +
      '<b>&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; co</b>1</p>',
  );
});

test('a flag stands or is left out', () => {
  expect(html`<input${flag('checked', true)}${flag('disabled', false)}>`.text).toBe('<input checked>');
});

test('no text leaves its element or its attribute', () => {
  const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      expect(html`${text}`.text).not.toMatch(/[<>"']/);
    }),
  );
});
