import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));
const commands = Object.values(scripts).flatMap(
  (script) => /^node scripts\/booking\.ts (\S+)$/.exec(script)?.[1] ?? [],
);

test('every command can be loaded by itself, and says what it does', async () => {
  expect(commands).toContain('check:consistency');
  const said = commands.map(async (name) => {
    const { stdout } = await promisify(execFile)('node', ['scripts/booking.ts', name, '--help']);
    return stdout;
  });
  for (const [index, text] of (await Promise.all(said)).entries()) {
    expect(text).toContain(`Usage: npm run ${commands[index]} -- `);
  }
});
