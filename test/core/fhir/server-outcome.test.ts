import { describe, expect, it } from '@jest/globals';
import { badRequest } from '@medplum/core';
import { isEndedByDatabase } from '../../../core/fhir/outcome/server-outcome.ts';

describe('a transaction that the database has ended', () => {
  it.each<[string, string, boolean]>([
    ['two wait for each other', 'deadlock detected', true],
    ['a later statement', 'current transaction is aborted, commands ignored until end of transaction block', true],
    ['an invalid resource', 'Missing required property', false],
    ['a value that sounds like it', 'Invalid code "deadlock detected"', false],
  ])('%s', (_, text, isEnded) => {
    expect(isEndedByDatabase(badRequest(text))).toBe(isEnded);
  });
});
