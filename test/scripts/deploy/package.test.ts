import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { validateResource } from '@medplum/core';
import type { Bundle } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { buildArtefacts } from '../../../profiles/artefacts.ts';
import { batchesOf, installationBundle, packageBundle } from '../../../scripts/build/package.ts';
import { type Connection, connect } from '../../../scripts/medplum/connect.ts';
import { codeOf, config, countAll, type Installation, startInstallation } from '../installation.ts';

const packageFile = JSON.parse(readFileSync('package.json', 'utf8'));

const installation = await startInstallation();
const connection = await connect(installation.sandbox);

const install = (): Promise<Bundle> => connection.medplum.executeBatch(packageBundle(buildArtefacts(config)));

const statuses = ({ entry = [] }: Bundle): Set<string | undefined> =>
  new Set(entry.map(({ response }) => response?.status.slice(0, 3)));

test('the package creates everything it carries, and nothing twice', async () => {
  expect(statuses(await install())).toEqual(new Set(['201']));
  const before = await countAll(connection.medplum);
  expect([...statuses(await install())].every((status) => status?.startsWith('2') || status === '304')).toBe(true);
  expect(await countAll(connection.medplum)).toEqual(before);
});

test('a deployment after it adds what the package cannot carry, and no more', async () => {
  await installation.deploy();
  const created = installation.lines.filter((line) => line.startsWith('created'));
  expect(created.length).toBeGreaterThan(0);
  expect(created.filter((line) => !/ {2}(Bot|OperationDefinition|Subscription) /.test(line))).toEqual([]);
});

describe('a whole installation', () => {
  let empty: Installation;
  let admin: Connection;

  beforeAll(async () => {
    empty = await startInstallation();
    admin = await connect(empty.sandbox);
  });

  const installAll = (code: string) => admin.medplum.executeBatch(installationBundle(config, codeOf(code)));
  const answer = async (): Promise<unknown> =>
    admin.medplum.executeBot({ system: artefactUri(config, 'LocalBot'), value: 'book' }, {});
  const says = (text: string) =>
    `exports.handler = async (medplum) => ({ said: '${text}', id: (await medplum.createResource({ resourceType: 'Task', status: 'draft', intent: 'order' })).id });`;

  test('has Bots that run with rights of their own, and are replaced by the next version', async () => {
    expect(statuses(await installAll(says('first')))).toEqual(new Set(['201']));
    const before = await countAll(admin.medplum);
    const [bot] = await admin.medplum.searchResources('Bot', { 'name:exact': 'book' });
    const said: { said?: string; id?: string } = Object(await answer());
    expect(said.said).toBe('first');
    const written = await admin.medplum.readResource('Task', said.id ?? '');
    expect(written.meta?.author).toEqual({ reference: `Bot/${bot?.id}`, display: 'book' });
    expect([...statuses(await installAll(says('second')))].every((one) => /^2|304/.test(one ?? ''))).toBe(true);
    expect(await answer()).toMatchObject({ said: 'second' });
    expect(await countAll(admin.medplum)).toEqual(before);
  });

  test('also comes in parts of 1 MB: the first, then the others at once, and nothing twice', async () => {
    const long = `${says('in parts')}//${'.'.repeat(200_000)}`;
    const all = { ...codeOf(long), ...Object.fromEntries(Object.keys(codeOf('')).map((name) => [name, long])) };
    const [first, ...others] = batchesOf(installationBundle(config, all));
    const before = await countAll(admin.medplum);
    const code = (await admin.medplum.searchOne('Bot', { 'name:exact': 'book' }))?.executableCode;
    const begun = await admin.medplum.executeBatch(first as Bundle);
    expect((await admin.medplum.searchOne('Bot', { 'name:exact': 'book' }))?.executableCode).toEqual(code);
    const ended = await Promise.all(others.map((part) => admin.medplum.executeBatch(part)));
    expect(
      [begun, ...ended].flatMap((bundle) => [...statuses(bundle)]).filter((one) => !/^2|304/.test(one ?? '')),
    ).toEqual([]);
    expect(others.length).toBeGreaterThan(5);
    expect([first, ...others].filter((part) => JSON.stringify(part).length > 1_048_576)).toEqual([]);
    expect(await answer()).toMatchObject({ said: 'in parts' });
    expect(await countAll(admin.medplum)).toEqual(before);
    await installAll(says('second'));
  });
});

describe.each(['default', 'isik'])('what is shipped for the preset %s', (preset) => {
  const read = (name: string): unknown => JSON.parse(readFileSync(`profiles/package/${preset}/${name}.json`, 'utf8'));

  test('the Bundle is what this version makes of the preset, and loads without a build', async () => {
    const made = packageBundle(buildArtefacts(resolveConfig({ preset, baseUrl: 'https://clinic.example/fhir/R4' })));
    expect(read('bundle')).toEqual(JSON.parse(JSON.stringify(made)));
    const answer = await connection.medplum.executeBatch(made);
    expect([...statuses(answer)].filter((status) => !status?.startsWith('2') && status !== '304')).toEqual([]);
  });

  test('the CapabilityStatement is valid and names no installation', () => {
    const statement = read('CapabilityStatement-AppointmentBooking');
    if (!isResource(statement, 'CapabilityStatement')) {
      throw new Error('It is another resource.');
    }
    expect(() => validateResource(statement)).not.toThrow();
    expect(statement).toMatchObject({ kind: 'capability', version: packageFile.version });
    expect(JSON.stringify(statement)).not.toContain('localhost');
  });
});
