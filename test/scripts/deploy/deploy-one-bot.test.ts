import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { connect } from '../../../scripts/medplum/connect.ts';
import { type Running, start } from '../../../scripts/start.ts';
import { freePort } from '../../lib/free-port.ts';
import { config, settings } from '../installation.ts';

const run = promisify(execFile);
/** A clone of the sources in which a Bot is changed. */
let folder: string;
let running: Running;
const lines: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clone-'));
  for (const part of ['bots', 'core', 'gateway', 'profiles', 'scripts', 'package.json', 'tsconfig.json']) {
    await cp(part, join(folder, part), { recursive: true });
  }
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const ports = { gateway: await freePort(), medplum: await freePort() };
  running = await start({
    config,
    ports,
    developer: { folder, settings },
    log: (line) => lines.push(...line.split('\n')),
  });
});

afterAll(async () => {
  await running?.stop();
  await rm(folder, { recursive: true });
});

/** The credentials of the line that npm start has printed. */
const environment = (): Record<string, string> =>
  Object.fromEntries(
    [...(lines.find((line) => line.startsWith('export ')) ?? '').matchAll(/(\w+)=(\S+)/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );

const inFolder = (file: string, ...words: string[]) =>
  run(file, words, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...environment() } });

test('a changed Bot is built with the configuration of npm start and deployed by the printed commands', async () => {
  expect(lines).toContain('npm run build && npx medplum bot deploy book');
  const source = await readFile('bots/booking/book.ts', 'utf8');
  const changed = source.replace(
    /export async function handler\(/,
    'export const handler = async () => ({ config });\nasync function before(',
  );
  await writeFile(join(folder, 'bots/booking/book.ts'), `${changed}\nvoid before;\n`);
  const built = await inFolder(process.execPath, 'scripts/booking.ts', 'build');
  expect(built.stdout).toContain('Configuration: .sandbox/booking.config.json');
  const deployed = await inFolder('node_modules/.bin/medplum', 'bot', 'deploy', 'book');
  expect(deployed.stdout).toContain('Number of bots deployed: 1');
  const { sandbox, baseUrl } = running;
  const { medplum } = await connect(sandbox);
  const answer = await medplum.executeBot({ system: artefactUri(config, 'LocalBot'), value: 'book' }, {});
  expect(answer).toMatchObject({
    config: { baseUrl, notifications: { allowedNetworks: ['127.0.0.0/8', '::1/128'], retryAfter: 1 } },
  });
});

test('a medplum.config.json of another server stays', async () => {
  const other = await mkdtemp(join(tmpdir(), 'other-'));
  const file = join(other, 'medplum.config.json');
  await writeFile(file, '{ "baseUrl": "https://medplum.example.org/" }');
  const { writeDeveloperFiles } = await import('../../../scripts/start/developer-files.ts');
  const deployment = { bots: { book: '1' }, gatewayClient: undefined };
  const portal = { id: 'a', secret: 'sealed.b' };
  const [line] = writeDeveloperFiles({ folder: other, settings }, config, running.sandbox, deployment, portal);
  expect(line).toContain('medplum.config.json belongs to https://medplum.example.org/ and was kept');
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ baseUrl: 'https://medplum.example.org/' });
  const environment = join(other, '.sandbox/portal.env');
  expect(await readFile(environment, 'utf8')).toBe('PORTAL_ID=a\nPORTAL_SECRET=sealed.b\n');
  expect((await stat(environment)).mode & 0o777).toBe(0o600);
  await rm(other, { recursive: true });
});
