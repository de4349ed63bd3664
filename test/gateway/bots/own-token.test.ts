import { expect, test } from '@jest/globals';
import pino from 'pino';
import { createOwnToken } from '../../../gateway/bots/own-token.ts';

/** A login that answers so, one after the other; then it works. */
function loggingIn(...answers: Promise<void>[]) {
  const logins: boolean[] = [];
  const lines: Record<string, unknown>[] = [];
  const logIn = async (anew: boolean): Promise<void> => {
    logins.push(anew);
    await answers.shift();
  };
  const logger = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) });
  return { token: createOwnToken(logIn, logger), logins, lines };
}
const refused = () => Promise.reject(new Error('invalid_client'));

test('calls that come at once share one login', async () => {
  const { token, logins } = loggingIn();
  expect(await Promise.all([token.isThere(), token.isThere()])).toEqual([true, true]);
  expect(logins).toEqual([false]);
  await token.isThere();
  expect(logins).toEqual([false, false]);
});

test('a token that was refused is replaced once', async () => {
  const { token, logins } = loggingIn();
  token.refused();
  await token.isThere();
  await token.isThere();
  expect(logins).toEqual([true, false]);
});

test('a token that could not be replaced is tried again, and the operator learns of it', async () => {
  const { token, logins, lines } = loggingIn(refused());
  token.refused();
  expect([await token.isThere(), await token.isThere()]).toEqual([false, true]);
  await token.isThere();
  expect(logins).toEqual([true, true, false]);
  expect(lines).toEqual([
    expect.objectContaining({
      err: expect.objectContaining({ message: 'invalid_client' }),
      msg: 'Medplum does not let the gateway log in: check BOTS_CLIENT_ID and its secret.',
    }),
  ]);
});

test('a first login that fails is no reason to give up a token', async () => {
  const { token, logins } = loggingIn(refused());
  expect([await token.isThere(), await token.isThere()]).toEqual([false, true]);
  expect(logins).toEqual([false, false]);
});

test('a refusal during a login counts for the next one', async () => {
  const gate = Promise.withResolvers<void>();
  const { token, logins } = loggingIn(gate.promise);
  const first = token.isThere();
  token.refused();
  gate.resolve();
  expect(await first).toBe(true);
  await token.isThere();
  expect(logins).toEqual([false, true]);
});

test('a refusal during a login that fails is not forgotten', async () => {
  const gate = Promise.withResolvers<void>();
  const { token, logins } = loggingIn(gate.promise);
  const first = token.isThere();
  token.refused();
  gate.reject(new Error('unavailable'));
  expect(await first).toBe(false);
  await token.isThere();
  expect(logins).toEqual([false, true]);
});

test('without a log it is only told to the caller', async () => {
  expect(await createOwnToken(refused, undefined).isThere()).toBe(false);
});
