import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { isResource } from '../../../core/fhir/resource.ts';
import { aClient, type Client, removeClient } from '../clients.ts';
import { base, tokenOf } from '../installation.ts';

let portal: Client;
beforeAll(async () => {
  portal = await aClient('Appointment booking: requestor');
});
afterAll(() => removeClient(portal));

/** Runs the shell commands of a page, in order and as they stand there but for the address. */
async function run(page: string, more = '') {
  const text = await readFile(page, 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
  const script = [...blocks, more]
    .join('\n')
    .replaceAll('http://localhost:8080/fhir/R4', base)
    .replaceAll('http://localhost:8080', new URL(base).origin)
    .replaceAll('Bearer front-desk', `Bearer ${await tokenOf('front-desk')}`);
  const folder = await mkdtemp(join(tmpdir(), 'docs-'));
  await mkdir(join(folder, '.sandbox'));
  const credentials = `PORTAL_ID=${portal.id}\nPORTAL_SECRET=${portal.secret}\n`;
  await writeFile(join(folder, '.sandbox/portal.env'), credentials);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder });
  const resource = async (file: string): Promise<unknown> => JSON.parse(await readFile(join(folder, file), 'utf8'));
  return { stdout, resource };
}

it('the first booking of the README works as it is printed', async () => {
  const readSlot = `curl -s "${base}/Slot/$SLOT" -H "Authorization: Bearer $TOKEN" > after.json`;
  const { stdout, resource } = await run('README.md', readSlot);
  const appointment = await resource('appointment.json');
  expect(isResource(appointment, 'Appointment') && appointment.status).toBe('booked');
  expect(stdout).toContain('"resourceType":"CodeSystem"');
  expect(stdout.endsWith(JSON.stringify(appointment))).toBe(true);
  const slot = await resource('after.json');
  expect(isResource(slot, 'Slot') && slot.status).toBe('busy');
});

it('the examples for portal developers work as they are printed', async () => {
  const { stdout, resource } = await run('docs/portals.md');
  const result = await resource('result.json');
  expect(isResource(result, 'Appointment') && result.status).toBe('booked');
  const answers = stdout.split(/(?<=\})(?=\{"resourceType")/).map((answer) => JSON.parse(answer) as unknown);
  const isRefusal = (answer: unknown): boolean =>
    isResource(answer, 'OperationOutcome') && answer.issue.some(({ severity }) => severity !== 'information');
  const types = answers.map((answer) => (isRefusal(answer) ? 'refused' : 'answered'));
  expect(types.lastIndexOf('answered')).toBe(types.length - 2);
  expect(types.indexOf('refused')).toBe(types.length - 1);
  expect(stdout).toContain('period-invalid');
  const slots = await resource('slots.json');
  const times = (isResource(slots, 'Bundle') ? slots.entry : [])?.map(({ resource: slot }) => slot);
  const cancelled = answers.filter((answer) => isResource(answer, 'Appointment') && answer.status === 'cancelled');
  expect(cancelled).toMatchObject([
    {
      start: isResource(times?.[6], 'Slot') && times[6].start,
      identifier: [{ system: 'https://portal.example.org/bookings', value: times?.[3]?.id }],
    },
  ]);
});

it('the example of an absence works as it is printed', async () => {
  const { stdout } = await run('docs/absences.md');
  expect(JSON.parse(stdout)).toMatchObject({ resourceType: 'Parameters' });
});

it('the Subscription of the page on notifications is accepted as it is printed', async () => {
  const [, body = ''] = /^```json\n(.*?)^```$/ms.exec(await readFile('docs/notifications.md', 'utf8')) ?? [];
  const headers = { authorization: `Bearer ${await tokenOf('portal-a')}`, 'content-type': 'application/fhir+json' };
  const created = await fetch(`${base}/Subscription`, { method: 'POST', headers, body });
  expect(created.status).toBe(201);
  const ended = await fetch(created.headers.get('location') ?? '', { method: 'DELETE', headers });
  expect(ended.status).toBe(204);
});
