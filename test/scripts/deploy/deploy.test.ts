import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { bots } from '../../../core/config/bots.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { buildArtefacts } from '../../../profiles/artefacts.ts';
import { codeTitle } from '../../../scripts/deploy/bots.ts';
import { deploy } from '../../../scripts/deploy.ts';
import { codeOf, config, countAll, present, startInstallation } from '../installation.ts';

const trivial = 'exports.handler = async () => true;';
const installation = await startInstallation();
const first = await installation.deploy({ code: trivial });
const { medplum } = first.connection;

const botIdentifier = { system: artefactUri(config, 'LocalBot'), value: 'book' };

test('the first deployment creates everything', async () => {
  const { accessPolicies, ...lists } = buildArtefacts(config);
  const artefacts = [Object.values(accessPolicies), ...Object.values(lists)].flat();
  expect(first.counts).toEqual({
    created: artefacts.length + Object.keys(bots).length,
    updated: 0,
    unchanged: 0,
    removed: 0,
  });
  const found = await medplum.searchResources('StructureDefinition', { url: artefactUri(config, 'LocalTermin') });
  expect(found).toHaveLength(1);
});

test('a second deployment changes nothing, and says so', async () => {
  const before = await countAll(medplum);
  const { counts } = await installation.deploy({ code: trivial });
  expect(counts).toEqual({ created: 0, updated: 0, unchanged: first.counts.created, removed: 0 });
  expect(installation.lines).toContain('unchanged  Bot book');
  expect(await countAll(medplum)).toEqual(before);
});

test('two at once make no artefact twice; of Bots that are there twice the next one says so', async () => {
  const other = await startInstallation();
  const [one] = await Promise.all([other.deploy({ code: trivial }), other.deploy({ code: trivial })]);
  expect(await countAll(one.connection.medplum)).toEqual({ ...(await countAll(medplum)), Bot: expect.anything() });
  await one.connection.medplum.createResource({ resourceType: 'Bot', name: 'book', identifier: [botIdentifier] });
  await expect(other.deploy({ code: trivial })).rejects.toThrow(/The Bot book exists \d times.*deploy -- --remove/);
});

test('the Bot has identifier, runtime, membership with its policy, and code', async () => {
  const bot = await medplum.searchOne('Bot', { identifier: `${botIdentifier.system}|${botIdentifier.value}` });
  expect(bot).toMatchObject({
    name: 'book',
    runtimeVersion: 'vmcontext',
    auditEventDestination: ['log'],
    executableCode: { title: codeTitle('book', trivial) },
  });
  const membership = await medplum.searchOne('ProjectMembership', { profile: `Bot/${bot?.id}` });
  expect(membership?.accessPolicy?.reference).toBe(`AccessPolicy/${first.policies.bots}`);
  expect(membership?.admin).toBeFalsy();
  expect(await medplum.executeBot(botIdentifier, {})).toBe(true);
});

test('artefacts that would move to another address are refused, with the setting that keeps them', async () => {
  const before = await countAll(medplum);
  const elsewhere = resolveConfig({ baseUrl: config.baseUrl, profileBase: 'https://clinic.example/fhir' });
  const kept = config.localBase;
  await expect(installation.deploy({ code: trivial, config: elsewhere })).rejects.toThrow(`Set "localBase": "${kept}"`);
  expect(await countAll(medplum)).toEqual(before);
});

describe('what has been changed by hand', () => {
  test("the clinic's own service codes stay, and the value set lists them", async () => {
    const url = artefactUri(config, 'LocalServiceType');
    const codes = present(await medplum.searchOne('CodeSystem', { url }));
    const concept = [...(codes.concept ?? []), { code: 'allergy-test', display: 'Allergy test' }];
    await medplum.updateResource({ ...codes, concept });
    expect((await installation.deploy({ code: trivial })).counts).toMatchObject({ created: 0, updated: 1 });
    expect((await medplum.searchOne('CodeSystem', { url }))?.concept).toEqual(concept);
    const valueSet = await medplum.searchOne('ValueSet', { url: codes.valueSet ?? '' });
    expect(valueSet?.expansion?.contains?.at(-1)).toMatchObject({ system: url, code: 'allergy-test' });
    expect((await installation.deploy({ code: trivial })).counts).toMatchObject({ created: 0, updated: 0 });
  });

  test("the Bot's membership gets its policy back", async () => {
    const found = await medplum.searchOne('ProjectMembership', { profile: `Bot/${first.bots.book}` });
    const { accessPolicy: _, ...without } = present(found);
    await medplum.updateResource(without);
    expect((await installation.deploy({ code: trivial })).counts).toMatchObject({ created: 0, updated: 1 });
  });
});

test('changed code is deployed, and only the Bot changes', async () => {
  const changed = 'exports.handler = async () => 42;';
  expect((await installation.deploy({ code: changed, dryRun: true })).counts).toMatchObject({ created: 0, updated: 1 });
  expect(await medplum.executeBot(botIdentifier, {})).toBe(true);
  expect((await installation.deploy({ code: changed })).counts).toMatchObject({ created: 0, updated: 1 });
  expect(await medplum.executeBot(botIdentifier, {})).toBe(42);
  await installation.deploy({ code: trivial });
});

test("code that Medplum's command line tool has deployed is left alone if it is the same", async () => {
  const id = present(first.bots.book);
  const deployAs = (code: string) => medplum.post(medplum.fhirUrl('Bot', id, '$deploy'), { code, filename: 'book.js' });
  await deployAs(trivial);
  expect((await installation.deploy({ code: trivial })).counts).toMatchObject({ created: 0, updated: 0 });
  await deployAs('exports.handler = async () => 42;');
  expect((await installation.deploy({ code: trivial })).counts).toMatchObject({ created: 0, updated: 1 });
});

test('a Bot that an interrupted deployment left behind is finished, not made twice', async () => {
  const bot = await medplum.readResource('Bot', present(first.bots.book));
  const { identifier: _, executableCode: __, ...unfinished } = bot;
  await medplum.updateResource(unfinished);
  expect((await installation.deploy({ code: trivial })).bots).toEqual(first.bots);
  expect(await medplum.executeBot(botIdentifier, {})).toBe(true);
});

test('medplum.config.json names the Bots for the command line tool', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deploy-'));
  const cliConfig = join(folder, 'medplum.config.json');
  await installation.deploy({ code: trivial, cliConfig });
  const written = JSON.parse(await readFile(cliConfig, 'utf8'));
  expect(written).toMatchObject({
    baseUrl: installation.sandbox.baseUrl,
    bots: Object.keys(bots).map((name) => ({ name, dist: `dist/bots/${name}.js` })),
  });
  expect(written.bots).toContainEqual({
    name: 'book',
    id: first.bots.book,
    source: 'bots/booking/book.ts',
    dist: 'dist/bots/book.js',
  });
  await rm(folder, { recursive: true });
});

describe('a deployment is refused', () => {
  const attempt = (changes: { baseUrl?: string; clientId?: string; clientSecret?: string }) => {
    const { baseUrl, clientId, clientSecret } = installation.sandbox;
    return deploy({
      baseUrl,
      clientId,
      clientSecret,
      config,
      code: codeOf(trivial),
      log: () => undefined,
      ...changes,
    });
  };

  test('where no server answers', async () => {
    await expect(attempt({ baseUrl: 'http://localhost:1/' })).rejects.toThrow(/No Medplum server answers.*--base-url/);
  });
});
