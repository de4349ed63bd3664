import { expect, it } from '@jest/globals';
import type { BotEvent } from '@medplum/core';
import { callerOf } from '../../../bots/lib/caller.ts';

const event = (more: object) => ({ input: {}, ...more }) as BotEvent<unknown>;

const requester = { reference: 'ClientApplication/portal', display: 'Portal' };

it('a caller is known by its id, with the credentials that it sent', () => {
  const caller = callerOf(event({ requester, headers: { authorization: 'Bearer secret' } }));
  expect(caller).toEqual({ id: 'portal', reference: requester, authorization: 'Bearer secret' });
});

it.each([
  ['no header', {}],
  ['no credentials', { headers: {} }],
])('a caller may send %s', (_, more) => {
  expect(callerOf(event({ requester, ...more })).authorization).toBeUndefined();
});

it.each([[undefined], [{}], [{ reference: 'portal' }], [{ reference: 'ClientApplication/' }]])(
  'a call by nobody is an error (%j)',
  (nobody) => {
    expect(() => callerOf(event({ requester: nobody }))).toThrow(
      'Medplum does not identify the caller to this Bot: the service needs Medplum 5.1 or later.',
    );
  },
);
