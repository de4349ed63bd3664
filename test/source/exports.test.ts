/** What a file shows to others, others use: everything else stays inside it. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const EXPORTED = /^export (?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm;
const IMPORTED = /^(?:import|export)\s[^;'"]*?from\s*['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]/gm;

const files = globSync('{core,bots,gateway,apps,profiles,scripts,packages,test,.ci}/**/*.{ts,tsx}', {
  exclude: (name) => name === 'node_modules',
});
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));

/** What each file imports or hands on from another, as the text of these statements by that other file. */
const imports = new Map<string, string[]>();
for (const [file, text] of texts) {
  for (const [statement, direct, dynamic] of text.matchAll(IMPORTED)) {
    const from = join(dirname(file), direct ?? dynamic ?? '');
    imports.set(from, [...(imports.get(from) ?? []), dynamic ? '*' : statement]);
  }
}

/** Medplum calls the handlers of Bots, a package has a face for everybody, generators hold text, tests are nobody's. */
const isForOthers = (file: string, name: string): boolean =>
  (file.startsWith('bots/') && name === 'handler') || /(?:^|\/)test\/|^scripts\/generate\/|\/sandbox\.ts$/.test(file);

test('every export is used by another file', () => {
  const unused = [...texts].flatMap(([file, text]) => {
    const statements = imports.get(file) ?? [];
    const isUsed = (name: string): boolean =>
      statements.some((one) => one.includes('*') || new RegExp(`\\b${name}\\b`).test(one));
    return [...text.matchAll(EXPORTED)].flatMap(([, name = '']) =>
      isUsed(name) || isForOthers(file, name) ? [] : [`${file}: ${name}`],
    );
  });
  expect(texts.size).toBeGreaterThan(1000);
  expect(unused).toEqual([]);
});
