import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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
