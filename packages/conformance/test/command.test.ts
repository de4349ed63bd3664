import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SaxesParser } from 'saxes';
import { scaled } from '../../../test/lib/time-scale.ts';
import { type Service, startService } from './service.ts';

let service: Service;
let folder: string;

beforeAll(async () => {
  service = await startService('isik');
  folder = await mkdtemp(join(tmpdir(), 'conformance-'));
}, scaled(60_000));

afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** Runs the command, and gives what it prints and its exit status. */
function run(...words: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { clientId, clientSecret } = service.credentials;
  const env = { ...process.env, CONFORMANCE_CLIENT_SECRET: clientSecret, CONFORMANCE_STAFF_TOKEN: 'front-desk' };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['scripts/booking.ts', 'conformance', '--client-id', clientId, ...words],
      { env },
      (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

/** The names and attributes of the elements of an XML text. */
function elementsOf(xml: string): { name: string; attributes: Record<string, string> }[] {
  const found: { name: string; attributes: Record<string, string> }[] = [];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }) => found.push({ name, attributes }));
  parser.write(xml).close();
  return found;
}

test('the result is a table, JSON and JUnit; the exit status tells whether a binding rule is broken', async () => {
  const [json, junit] = [join(folder, 'result.json'), join(folder, 'result.xml')];
  const { baseUrl, staffUrl } = service;
  const words = [
    '--base-url',
    baseUrl,
    '--staff-url',
    staffUrl,
    '--stage',
    'isik',
    '--only',
    'metadata',
    'patch-cancel',
  ];
  const { code, stdout, stderr } = await run(...words, '--json', json, '--junit', junit);
  expect([code, stderr.includes('passed    patch-cancel')]).toEqual([0, true]);
  expect(stdout).toMatch(/passed +MUST +patch-cancel +A FHIRPath Patch cancels an Appointment\./);
  const result = JSON.parse(await readFile(json, 'utf8'));
  expect(result).toMatchObject({ stage: 'isik', counts: { failed: 0, skipped: 0 }, left: [] });
  const cancel = result.checks.find(({ name }: { name: string }) => name === 'patch-cancel');
  expect(cancel.exchanges[0]).toEqual({ sent: 'POST /Appointment/$book', status: 201 });
  const cases = elementsOf(await readFile(junit, 'utf8')).filter(({ name }) => name === 'testcase');
  expect(cases.map(({ attributes }) => attributes.name)).toEqual(
    result.checks.map(({ name }: { name: string }) => name),
  );
});

test('a service that claims more than it does is found out, with the reason in every report', async () => {
  const [json, junit] = [join(folder, 'broken.json'), join(folder, 'broken.xml')];
  const words = ['--base-url', service.baseUrl, '--stage', 'isik3', '--only', 'metadata-book'];
  const { code, stdout } = await run(...words, '--json', json, '--junit', junit);
  expect(code).toBe(1);
  expect(stdout).toContain('metadata-book-definition (failed; ISiK Terminplanung, CapabilityStatement)');
  expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({ counts: { passed: 1, failed: 1 } });
  const failures = elementsOf(await readFile(junit, 'utf8')).filter(({ name }) => name === 'failure');
  expect(failures).toHaveLength(1);
});

test('the configuration of an installation says which stage it claims', async () => {
  const config = join(folder, 'booking.config.json');
  const settings = { preset: 'isik5', baseUrl: 'https://nowhere.invalid/fhir', localBase: 'https://example.org/fhir' };
  await writeFile(config, JSON.stringify(settings));
  const { stdout } = await run('--base-url', 'https://nowhere.invalid/fhir', '--config', config, '--list');
  expect(stdout).toContain('read-encounter-in-full');
  expect(stdout).not.toContain('subscription-events');
});

test('--list prints what is sent and expected, without asking anybody', async () => {
  const { code, stdout } = await run('--base-url', 'https://nowhere.invalid/fhir', '--stage', 'isik5', '--list');
  expect(code).toBe(0);
  expect(stdout).toContain('POST /Appointment/$book');
  expect(stdout).toContain('- status 202');
  expect(stdout).toContain('covers Appointment-Book: Read and Validation of the CapabilityStatement');
  expect(stdout).not.toContain('subscription-events');
});

test.each([
  [['--stage', 'isik7'], /Allowed choices are default, isik3/],
  [['--from', '2001-01-01'], /--from must be a day in the future/],
  [['--only', 'nonsense'], /No check begins with nonsense/],
  [['--service-type', '124'], /system\|code/],
  [['--data', 'tsconfig.json'], /tsconfig.json:.*Unrecognized keys/s],
])('%j is refused with a sentence', async (words, sentence) => {
  const { code, stderr } = await run('--base-url', service.baseUrl, ...words);
  expect(code).toBe(1);
  expect(stderr).toMatch(sentence);
});
