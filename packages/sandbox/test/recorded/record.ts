/**
 * Records what a real Medplum server answers to the scenarios: `npm run record [scenario …]`. MEDPLUM_BASE_URL,
 * MEDPLUM_CLIENT_ID and MEDPLUM_CLIENT_SECRET name an administrator of a project that is there for nothing else.
 */
import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { runAsProgram } from '../../../../scripts/cli/command.ts';
import { credentialsFrom } from '../../../../scripts/cli/credentials.ts';
import { play } from './scenario.ts';
import { scenarios } from './scenarios/index.ts';
import { asker, BOT_NAME, logIn, type Target } from './stage.ts';

const folder = new URL('recordings/', import.meta.url);
const healthShape = z.object({ version: z.string() });
const botsShape = z.object({ entry: z.array(z.object({ resource: z.object({ name: z.string() }) })).optional() });

/** Scenarios leave much behind, and the Bots of others would answer for Medplum. */
async function requireOwnProject(target: Target): Promise<void> {
  const response = await asker(target.baseUrl, await logIn(target))('GET Bot?_count=1000');
  const { entry = [] } = botsShape.parse(response.body);
  if (entry.some(({ resource }) => !resource.name.startsWith(BOT_NAME))) {
    throw new Error(
      'This project has Bots of its own. Record in an empty one: `npm run bootstrap -- --project recording` makes it.',
    );
  }
}

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !(name in scenarios));
  if (unknown.length > 0) {
    throw new Error(`There is no scenario ${unknown.join(', ')}. There are: ${Object.keys(scenarios).join(', ')}.`);
  }
  const { baseUrl, ...credentials } = credentialsFrom({});
  const target = { ...credentials, baseUrl: `${baseUrl.replace(/\/+$/, '')}/` };
  await requireOwnProject(target);
  const health = await fetch(`${target.baseUrl}healthcheck`);
  const { version: server } = healthShape.parse(await health.json());
  console.log(`Recording Medplum ${server} at ${target.baseUrl}`);
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (names.length === 0 || names.includes(name)) {
      const recording = { server, exchanges: await play(scenario, target) };
      await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(recording, undefined, 1)}\n`);
      console.log(`  ${name}: ${recording.exchanges.length} exchanges`);
    }
  }
}

await runAsProgram(import.meta.url, () => main(process.argv.slice(2)));
