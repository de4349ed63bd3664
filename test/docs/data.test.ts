import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { artefacts } from '../../core/fhir/artefacts.ts';
import { codesWhere } from '../../core/rows/row.ts';

const page = readFileSync('docs/data.md', 'utf8');

test('the map of the data names every artefact', () => {
  expect(Object.keys(artefacts).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('the map of the data has a row for each kind of Task, and for no other', () => {
  const section = page.slice(page.indexOf('## Rows of the service'), page.indexOf('`Communication` holds'));
  const rows = [...section.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code]) => code ?? '');
  expect(rows.toSorted()).toEqual(codesWhere(() => true).toSorted());
});
