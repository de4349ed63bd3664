import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from '../../scripts/medplum/connect.ts';
import { type FakeMedplum, type Reply, startFakeMedplum } from '../gateway/fake-medplum.ts';

let fake: FakeMedplum;

beforeAll(async () => {
  fake = await startFakeMedplum();
});

afterAll(() => fake.close());

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token as Medplum gives it, as far as its client reads it. */
const accessToken = `${encoded({ alg: 'none' })}.${encoded({ client_id: 'id', login_id: 'x', exp: 4_000_000_000 })}.`;

const reference = { reference: 'Some/1', display: 'one' } as const;
const profile = { resourceType: 'ClientApplication', id: 'id' } as const;

/** Medplum 5.0: `auth/me` does not tell the features of the project. */
function answersOf(admin: boolean, features: readonly string[]): Record<string, Reply> {
  return {
    '/oauth2/token': { body: { access_token: accessToken, project: reference, profile: reference } },
    '/auth/me': { body: { project: { id: 'p1', name: 'Clinic' }, membership: { admin }, profile } },
    '/fhir/R4/Project/p1': { body: { resourceType: 'Project', id: 'p1', features } },
  };
}

const connectTo = (admin: boolean, ...features: string[]) => {
  const answers = answersOf(admin, features);
  fake.answer = ({ path }) => answers[path];
  return connect({ baseUrl: fake.url, clientId: 'id', clientSecret: 'secret' });
};

test('features that auth/me leaves out are read from the project', async () => {
  expect(await connectTo(true, 'bots', 'transaction-bundles')).toMatchObject({ projectId: 'p1' });
});

test('and missed if they are not there', async () => {
  await expect(connectTo(true, 'bots')).rejects.toThrow(/lacks the feature transaction-bundles/);
});

test('others than administrators are told so first', async () => {
  await expect(connectTo(false)).rejects.toThrow(
    /^(?!.*lacks the feature).*do not belong to an administrator(?!.*lacks the feature)/s,
  );
});
