/** All regular expressions of the sources take time in proportion to the text: none can be made to search for minutes. */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseSync } from '@swc/core';
import { analyse } from 'scslre';
import { NARRATIVE_PATTERN } from '../../core/fhir/narrative/narrative-pattern.ts';
import { isObject } from '../../core/fhir/resource.ts';

interface Found {
  /** `file: /pattern/flags` */
  readonly expressions: Map<string, { readonly source: string; readonly flags: string }>;
  /** Files that put expressions together, which cannot be read from the source. */
  readonly made: Set<string>;
}

function collect(node: unknown, file: string, found: Found): void {
  if (Array.isArray(node)) {
    for (const one of node) {
      collect(one, file, found);
    }
    return;
  }
  if (!isObject(node)) {
    return;
  }
  const { type, pattern, flags, callee } = node;
  if (type === 'RegExpLiteral' && typeof pattern === 'string' && typeof flags === 'string') {
    found.expressions.set(`${file}: /${pattern}/${flags}`, { source: pattern, flags });
  }
  if ((type === 'NewExpression' || type === 'CallExpression') && isObject(callee) && callee.value === 'RegExp') {
    found.made.add(file);
  }
  for (const value of Object.values(node)) {
    collect(value, file, found);
  }
}

function read(): Found {
  const found: Found = { expressions: new Map(), made: new Set() };
  for (const file of globSync('{core,bots,gateway,apps,profiles,scripts,packages}/**/*.{ts,tsx}', {
    exclude: (name) => name === 'node_modules' || name === 'test',
  })) {
    const text = readFileSync(file, 'utf8');
    collect(parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x') }), file, found);
  }
  return found;
}

const { expressions, made } = read();
expressions.set('NARRATIVE_PATTERN, for Medplum', { source: NARRATIVE_PATTERN, flags: '' });

test('no expression backtracks more than in proportion to the text', () => {
  expect(expressions.size).toBeGreaterThan(150);
  const slow = [...expressions].filter(([, expression]) => analyse(expression).reports.length > 0);
  expect(slow.map(([name]) => name)).toEqual([]);
});

test('texts are normalized only up to a length', () => {
  const files = globSync('{core,bots,gateway,apps,packages/web}/**/*.{ts,tsx}', {
    exclude: (name) => name === 'node_modules' || name === 'test',
  });
  const normalizing = files.filter((file) => readFileSync(file, 'utf8').includes('.normalize('));
  expect(normalizing).toEqual(['core/fhir/unicode.ts']);
});

test('only lists of words that the sources or the configuration name are made into expressions', () => {
  expect([...made].sort()).toEqual(['core/fhir/narrative/narrative.ts', 'gateway/medplum/address-rewriting.ts']);
});

test('an expression that backtracks is noticed', () => {
  const flags = '';
  for (const source of [String.raw`^[^\s@]+@[^\s@]+\.[^\s@]+$`, '(a+)+$', String.raw`\s+$`]) {
    expect(analyse({ source, flags }).reports).not.toEqual([]);
  }
});
