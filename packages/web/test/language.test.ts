import { expect, test } from '@jest/globals';
import { languages, preferredLanguage } from '../language.ts';

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['de', 'de'],
  ['de-AT,en;q=0.5', 'de'],
  ['fr-FR, fr;q=0.9, DE;q=0.4, en;q=0.3', 'de'],
  ['en;q=0.2, de-DE;q=0.8', 'de'],
  ['de;q=0, en', 'en'],
  ['ja, zh', 'en'],
  [';;;,,,q=1', 'en'],
])('%j is answered in %s', (header, language) => {
  expect(preferredLanguage(header, languages) ?? 'en').toBe(language);
});
