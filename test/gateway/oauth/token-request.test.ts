import { describe, expect, test } from '@jest/globals';
import { assertionRefusal, readTokenRequest } from '../../../gateway/oauth/token-request.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const GRANT = 'grant_type=client_credentials';

describe('a request for a token', () => {
  test.each<[string, string, string | undefined, (string | undefined)[]]>([
    ['in the form', `${GRANT}&client_id=a&client_secret=b&scope=c`, undefined, ['a', 'b', 'c']],
    ['in the header', GRANT, basic('a:b'), ['a', 'b', undefined]],
    ['in both: the header counts', `${GRANT}&client_id=x&client_secret=y`, basic('a:b'), ['a', 'b', undefined]],
    ['with colons in the secret', GRANT, basic('a:b:c\n'), ['a', 'b:c\n', undefined]],
    ['with an empty secret', GRANT, basic('a:'), ['a', '', undefined]],
    ['by a scheme in any case', GRANT, basic('a:b').replace('Basic ', 'bASIC  '), ['a', 'b', undefined]],
    ['of nobody', GRANT, undefined, ['', undefined, undefined]],
  ])('%s', (_name, form, authorization, [clientId, clientSecret, scope]) => {
    expect(readTokenRequest(form, authorization)).toEqual({ clientId, clientSecret, scope });
  });

  test.each<[string, string, string | undefined, string, string]>([
    ['a parameter twice', `${GRANT}&scope=a&scope=b`, undefined, 'invalid_request', 'Send each parameter once.'],
    ['no grant', 'client_id=a', undefined, 'invalid_request', 'Missing grant_type: send client_credentials.'],
    ['an empty grant', 'grant_type=', undefined, 'invalid_request', 'Missing grant_type: send client_credentials.'],
    [
      'another grant',
      'grant_type=password',
      undefined,
      'unsupported_grant_type',
      'This service supports only the grant_type client_credentials.',
    ],
    ...[
      'Bearer abc',
      'Basic',
      'Basic !',
      `Basic ${'a'.repeat(4)}===`,
      `x${basic('a:b')}`,
      `${basic('a:b')} x`,
      basic('ab'),
    ].map((authorization): [string, string, string, string, string] => [
      authorization,
      GRANT,
      authorization,
      'invalid_request',
      'The Authorization header must be Basic with the id and the secret of the client.',
    ]),
  ])('%s is refused', (_name, form, authorization, error, description) => {
    expect(readTokenRequest(form, authorization)).toEqual({ status: 400, error, description });
  });
});

describe('a signed assertion', () => {
  const refused = (name: string) => ({
    status: 401,
    error: 'invalid_client',
    description: `This service does not support ${name} (private_key_jwt): send client_id and client_secret, in the form or by HTTP Basic.`,
  });

  test.each(['client_assertion', 'client_assertion_type'])('%s is refused, also where it stands twice', (name) => {
    expect(assertionRefusal(`${GRANT}&${name}=x`)).toEqual(refused(name));
    expect(readTokenRequest(`${GRANT}&${name}=x&${name}=y`, undefined)).toEqual(refused(name));
  });

  test('is told from what only looks like one', () => {
    expect(assertionRefusal(`${GRANT}&x=client_assertion`)).toBeUndefined();
  });
});
