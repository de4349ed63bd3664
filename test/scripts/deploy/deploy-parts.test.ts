import { describe, expect, test } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { credentialsFrom } from '../../../scripts/cli/credentials.ts';
import { codeTitle } from '../../../scripts/deploy/bots.ts';
import { withBots } from '../../../scripts/deploy/cli-config.ts';
import { summary } from '../../../scripts/deploy.ts';
import { requireSuitable } from '../../../scripts/medplum/connect.ts';
import { startReport } from '../../../scripts/medplum/report.ts';
import { hasContent } from '../../../scripts/medplum/upsert.ts';

describe('a stored resource and the wanted one', () => {
  const wanted: Slot = {
    resourceType: 'Slot',
    schedule: { reference: 'Schedule/1' },
    status: 'free',
    start: '2027-01-11T09:00:00Z',
    end: '2027-01-11T09:30:00Z',
  };

  test('are the same whatever the server has added as id and meta', () => {
    expect(hasContent({ ...wanted, id: '1', meta: { versionId: '7' } }, { ...wanted, comment: undefined })).toBe(true);
  });

  test('differ in content', () => {
    expect(hasContent({ ...wanted, status: 'busy' }, wanted)).toBe(false);
    expect(hasContent({ ...wanted, comment: 'x' }, wanted)).toBe(false);
  });
});

describe('the project', () => {
  const project = { id: 'p', name: 'Clinic', features: ['bots', 'transaction-bundles'] };

  test('is suitable with both features and an administrator', () => {
    expect(() => requireSuitable({ project, membership: { admin: true } })).not.toThrow();
  });

  test.each([
    ['bots', { ...project, features: ['transaction-bundles'] }],
    ['transaction-bundles', { ...project, features: ['bots'] }],
    ['transaction-bundles', { id: 'p' }],
  ])('is refused without the feature %s, with what to do', (feature, other) => {
    expect(() => requireSuitable({ project: other, membership: { admin: true } })).toThrow(
      new RegExp(`lacks the feature ${feature}.*super administrator`),
    );
  });

  test('is refused to others than administrators, with what to do', () => {
    expect(() => requireSuitable({ project, membership: {} })).toThrow(/administrator.*Set admin to true/);
  });
});

describe('medplum.config.json', () => {
  const own = { name: 'book', id: '1', source: 'bots/booking/book.ts', dist: 'dist/bots/book.js' };

  test('names each Bot with id, source and bundle', () => {
    expect(withBots(undefined, 'http://m/', { book: '1' })).toEqual({ baseUrl: 'http://m/', bots: [own] });
  });

  test('keeps what others have entered', () => {
    const other = { name: 'other', id: '9', source: 'other.ts' };
    const existing = { baseUrl: 'http://old/', clientId: 'c', bots: [other, { ...own, id: '0' }] };
    expect(withBots(existing, 'http://m/', { book: '1' })).toEqual({
      baseUrl: 'http://m/',
      clientId: 'c',
      bots: [other, own],
    });
  });

  test('is refused when it is something else', () => {
    expect(() => withBots({ bots: 'x' }, 'http://m/', {})).toThrow(/medplum\.config\.json is not usable/);
  });
});

describe('credentials', () => {
  const environment = { MEDPLUM_BASE_URL: 'http://e/', MEDPLUM_CLIENT_ID: 'e', MEDPLUM_CLIENT_SECRET: 's' };

  test('come from the options, else from the environment', () => {
    expect(credentialsFrom({ clientId: 'o' }, environment)).toEqual({
      baseUrl: 'http://e/',
      clientId: 'o',
      clientSecret: 's',
    });
  });

  test('are asked for by name when missing', () => {
    expect(() => credentialsFrom({ clientId: 'o' }, {})).toThrow(/--base-url.*MEDPLUM_CLIENT_SECRET/);
  });
});

test('the title of deployed code changes with the code', () => {
  expect(codeTitle('book', 'a')).toMatch(/^book\.[0-9a-f]{16}\.js$/);
  expect(codeTitle('book', 'a')).not.toBe(codeTitle('book', 'b'));
});

test('the report counts, and says in a dry run what would be', () => {
  const lines: string[] = [];
  const report = startReport((line) => lines.push(line), true);
  report.note('created', 'Bot book');
  report.note('unchanged', 'ValueSet x');
  expect(lines).toEqual(['would be created  Bot book', 'unchanged  ValueSet x']);
  expect(summary(report.counts(), true)).toBe(
    'Dry run, nothing was written. Would be: 1 created, 0 updated, 1 unchanged.',
  );
});
