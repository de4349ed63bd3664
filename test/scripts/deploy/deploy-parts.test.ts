import { describe, expect, test } from '@jest/globals';
import { credentialsFrom } from '../../../scripts/cli/credentials.ts';
import { withBots } from '../../../scripts/deploy/cli-config.ts';
import { requireSuitable } from '../../../scripts/medplum/connect.ts';

describe('the project', () => {
  const project = { id: 'p', name: 'Clinic', features: ['bots', 'transaction-bundles'] };

  test.each([
    ['bots', { ...project, features: ['transaction-bundles'] }],
    ['transaction-bundles', { ...project, features: ['bots'] }],
    ['transaction-bundles', { id: 'p' }],
  ])('is refused without the feature %s, with what to do', (feature, other) => {
    expect(() => requireSuitable({ project: other, membership: { admin: true } })).toThrow(
      new RegExp(`lacks the feature ${feature}.*super administrator`),
    );
  });
});

describe('medplum.config.json', () => {
  const own = { name: 'book', id: '1', source: 'bots/booking/book.ts', dist: 'dist/bots/book.js' };

  test('keeps what others have entered', () => {
    const other = { name: 'other', id: '9', source: 'other.ts' };
    const existing = { baseUrl: 'http://old/', clientId: 'c', bots: [other, { ...own, id: '0' }] };
    expect(withBots(existing, 'http://m/', { book: '1' })).toEqual({
      baseUrl: 'http://m/',
      clientId: 'c',
      bots: [other, own],
    });
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
});
