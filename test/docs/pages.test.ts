import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const read = (path: string): string => readFileSync(path, 'utf8');

const pages = [...readdirSync('.'), ...readdirSync('docs').map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  const headings = [...page.replace(/^ *```.*?^ *```/gms, '').matchAll(/^#+ (.*)$/gm)];
  return headings.map(([, text = '']) =>
    text
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(pages)('every link of %s leads to a file, and to a heading of it', (path) => {
  const links = [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const broken = links.filter(([, file = '', anchor]) => {
    const target = file === '' ? path : join(dirname(path), file);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(read(target)).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test('every guarantee names its tests', () => {
  const [, guarantees = ''] = read('SECURITY.md').split('## Guarantees and their tests');
  const lines = guarantees.split('\n').filter((line) => line.startsWith('- '));
  const tests = lines.map((line) =>
    [...line.replace(/.*\((?=`)/, '').matchAll(/`([a-z/-]+)`/g)].map(([, name]) => name),
  );
  expect(lines.filter((_, index) => tests[index]?.length === 0)).toEqual([]);
  expect(tests.flat().filter((name) => ![`test/${name}.test.ts`, `${name}.test.ts`].some(existsSync))).toEqual([]);
  expect(lines.length).toBeGreaterThan(50);
});
