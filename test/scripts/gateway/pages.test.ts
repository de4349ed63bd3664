import { expect, test } from '@jest/globals';
import { frontDeskFrom } from '../../../scripts/gateway/pages.ts';

const medplum = 'http://medplum:8103/';

test('without a client there is no front desk', () => {
  expect(frontDeskFrom({ DESK_MEDPLUM_URL: 'nonsense' }, medplum)).toBeUndefined();
});

test.each([
  [undefined, medplum],
  ['https://medplum.example', 'https://medplum.example/'],
])('browsers reach Medplum at %p: %s', (given, medplumUrl) => {
  const environment = { DESK_CLIENT_ID: 'x', DESK_MEDPLUM_URL: given };
  expect(frontDeskFrom(environment, medplum)).toEqual({ clientId: 'x', medplumUrl });
});

test('an address that is none is refused by its name', () => {
  const environment = { DESK_CLIENT_ID: 'x', DESK_MEDPLUM_URL: 'medplum.example' };
  expect(() => frontDeskFrom(environment, medplum)).toThrow(/^DESK_MEDPLUM_URL must be/);
});
