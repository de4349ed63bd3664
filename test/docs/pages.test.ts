import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

/** How many words each page may have; to raise one is a decision of its own. */
const budgets: Readonly<Record<string, number>> = {
  'README.md': 900,
  'CHANGELOG.md': 444,
  'CONTRIBUTING.md': 1_750,
  'SECURITY.md': 2_130,
  'docs/absences.md': 360,
  'docs/assistants.md': 450,
  'docs/calendar-model.md': 1_420,
  'docs/clients.md': 650,
  'docs/clinics.md': 3_760,
  'docs/configuration.md': 1_570,
  'docs/conformance-kit.md': 990,
  'docs/conformance.md': 1_150,
  'docs/data.md': 1_320,
  'docs/errors.md': 1_000,
  'docs/figures.md': 1_780,
  'docs/front-desk.md': 1_500,
  'docs/how-it-works.md': 1_400,
  'docs/messages.md': 600,
  'docs/notifications.md': 1_990,
  'docs/operators.md': 3_840,
  'docs/portal.md': 1_220,
  'docs/portals.md': 4_280,
};

const read = (path: string): string => readFileSync(path, 'utf8');

const pages = readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? `docs/${name}` : []));

test('every page has a budget', () => {
  expect(Object.keys(budgets).filter((path) => path.startsWith('docs/'))).toEqual(pages.toSorted());
});

test.each(Object.entries(budgets))('%s has at most %d words', (path, most) => {
  expect(read(path).trim().split(/\s+/).length).toBeLessThanOrEqual(most);
});

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

test.each(Object.keys(budgets))('every link of %s leads to a file, and to a heading of it', (path) => {
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
