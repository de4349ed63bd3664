import { expect, test } from '@jest/globals';
import { createTokens } from '../auth/tokens.ts';

test('a token that has expired, or was changed, is worth nothing', () => {
  let time = new Date('2027-01-01T00:00:00Z');
  const tokens = createTokens(
    'key',
    () => 'http://localhost/',
    () => time,
  );
  const issued = tokens.issue({ login_id: 'a', sub: 'b', profile: 'c/d', scope: 'openid' }, 60);
  expect(tokens.verify(issued)?.login_id).toBe('a');
  expect(tokens.verify(issued.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).toBeUndefined();
  time = new Date('2027-01-01T00:01:00Z');
  expect(tokens.verify(issued)).toBeUndefined();
});
