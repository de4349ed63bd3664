import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import vm from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { buildBots, bundleBot } from '../../../scripts/build/bots.ts';

const config = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bots-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

const sourceOf = (name: string, source: string): Promise<void> => writeFile(join(folder, `${name}.ts`), source);

/** Runs a bundle the way Medplum does: in a context with few globals, with a call appended to it. */
async function run(code: string, input: unknown): Promise<unknown> {
  const wrapped = `const exports = {}; const module = { exports };\n${code}\n(async () => exports.handler({}, event))();`;
  const context = { event: { input }, require: createRequire(import.meta.url), console, process, URL };
  return JSON.parse(JSON.stringify(await vm.runInNewContext(wrapped, context)));
}

test('a bundle runs in a bare VM context, with the configuration in it', async () => {
  await sourceOf(
    'echo',
    `declare const __BOOKING_CONFIG__: { baseUrl: string };
     export async function handler(_: unknown, event: { input: string }): Promise<string[]> {
       return [__BOOKING_CONFIG__.baseUrl, event.input];
     }`,
  );
  const code = await bundleBot(join(folder, 'echo.ts'), config);
  expect(await run(code, 'x')).toEqual(['http://localhost:8080/fhir/R4', 'x']);
  expect(code.trimEnd()).toMatch(/;$/);
});

test('a Bot without handler is refused by name', async () => {
  await sourceOf('silent', 'export const other = 1;');
  await expect(bundleBot(join(folder, 'silent.ts'), config)).rejects.toThrow(
    /Bot silent .*silent\.ts must exist and export handler/,
  );
});

test('a Bot without source is refused by name', async () => {
  await expect(bundleBot(join(folder, 'absent.ts'), config)).rejects.toThrow(
    /Bot absent .*absent\.ts must exist and export handler/,
  );
});

test('every Bot of the service is bundled and written', async () => {
  const output = join(folder, 'dist');
  const code = await buildBots(config, output);
  expect(Object.keys(code)).toContain('book');
  expect(await readFile(join(output, 'book.js'), 'utf8')).toBe(code.book);
});
