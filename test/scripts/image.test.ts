import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';

const dockerfile = readFileSync('Dockerfile', 'utf8');
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

const copied = dockerfile
  .slice(dockerfile.indexOf('AS gateway'))
  .split('\n')
  .flatMap((line) => /^COPY ([\w./-]+) (?!\.\/)/.exec(line)?.[1] ?? []);

const { metafile } = await build({
  entryPoints: ['scripts/gateway.ts'],
  bundle: true,
  write: false,
  metafile: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
});

test("the gateway's image holds every file that the gateway imports, and no folder that it does not need", () => {
  const inputs = Object.keys(metafile.inputs).filter((path) => !path.endsWith('.json'));
  const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`);
  expect(inputs.filter((path) => !copied.some((place) => isIn(path, place)))).toEqual([]);
  expect(copied.filter((place) => !inputs.some((path) => isIn(path, place)))).toEqual([]);
});

test("the gateway's image holds every library that the gateway imports", () => {
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  const libraries = imported.filter((path) => !path.startsWith('node:'));
  expect(
    libraries.filter(
      (path) =>
        !(
          path
            .split('/')
            .slice(0, path.startsWith('@') ? 2 : 1)
            .join('/') in dependencies
        ),
    ),
  ).toEqual([]);
});

test("the image runs on the project's own version of Node.js", () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(dockerfile).toContain(`FROM node:${devDependencies.node}-`);
});
