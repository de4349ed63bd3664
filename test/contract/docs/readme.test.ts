import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { isResource } from '../../../fhir/resource.ts';
import { base, tokenOf } from '../installation.ts';

/** The shell commands of a page, as they stand there, for this installation. */
async function commandsOf(page: string): Promise<string> {
  const text = await readFile(page, 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
  return blocks
    .join('\n')
    .replaceAll('http://localhost:8080/fhir/R4', base)
    .replaceAll('Bearer portal-a', `Bearer ${await tokenOf('portal-a')}`);
}

it('the first booking of the README works as it is printed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'readme-'));
  const commands = await commandsOf('README.md');
  const script = `${commands}\ncurl -s "${base}/Slot/$SLOT" -H 'Authorization: Bearer ${await tokenOf('portal-a')}' > after.json`;
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder });
  const appointment: unknown = JSON.parse(await readFile(join(folder, 'appointment.json'), 'utf8'));
  expect(isResource(appointment, 'Appointment') && appointment.status).toBe('booked');
  expect(stdout).toContain('"resourceType":"CodeSystem"');
  expect(stdout.endsWith(JSON.stringify(appointment))).toBe(true);
  const slot: unknown = JSON.parse(await readFile(join(folder, 'after.json'), 'utf8'));
  expect(isResource(slot, 'Slot') && slot.status).toBe('busy');
});
