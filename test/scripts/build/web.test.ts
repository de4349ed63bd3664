import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { buildWeb } from '../../../scripts/build/web.ts';

const output = mkdtempSync(join(tmpdir(), 'build-web-'));
afterAll(() => rmSync(output, { recursive: true }));

test('the pages are built once, by several processes at the same time too', async () => {
  const [first] = await Promise.all([buildWeb(output), buildWeb(output)]);
  expect(first).toBeDefined();
  const { digest } = JSON.parse(readFileSync(join(output, 'manifest.json'), 'utf8'));
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(readdirSync(output).filter((name) => name.startsWith('manifest'))).toEqual(['manifest.json']);
  expect(await buildWeb(output)).toBeUndefined();
});

test('a further build leaves the files whole that pages of now and builds of others need', async () => {
  await buildWeb(output);
  const manifest = join(output, 'manifest.json');
  const { pages } = JSON.parse(readFileSync(manifest, 'utf8'));
  const style = join(output, 'portal', pages.portal.style);
  // A service that has opened the file reads on, whatever is written meanwhile.
  writeFileSync(style, 'read');
  linkSync(style, join(output, 'opened'));
  const [listed, unlisted, ofOther] = ['listed', 'unlisted', 'other'].map((name) => join(output, `portal/${name}.css`));
  for (const file of [listed, unlisted, ofOther]) {
    writeFileSync(`${file}`, '');
  }
  for (const file of [listed, unlisted]) {
    utimesSync(`${file}`, 0, 0);
  }
  writeFileSync(manifest, JSON.stringify({ digest: 'of other sources', pages, files: ['listed.css'] }));
  expect(await buildWeb(output)).toBeDefined();
  expect(readFileSync(join(output, 'opened'), 'utf8')).toBe('read');
  expect(readFileSync(style, 'utf8')).toMatch(/^.{100}/);
  expect(readdirSync(join(output, 'portal'))).toEqual(expect.arrayContaining(['listed.css', 'other.css']));
  expect(readdirSync(join(output, 'portal'))).not.toContain('unlisted.css');
});
