import { expect, test } from '@jest/globals';
import { connect } from '../../scripts/medplum/connect.ts';
import { type Reply, startFakeMedplum } from '../gateway/fake-medplum.ts';

const fake = await startFakeMedplum();

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token as Medplum gives it, as far as its client reads it. */
const accessToken = `${encoded({ alg: 'none' })}.${encoded({ client_id: 'id', login_id: 'x', exp: 4_000_000_000 })}.`;

const reference = { reference: 'Some/1', display: 'one' } as const;
const profile = { resourceType: 'ClientApplication', id: 'id' } as const;

interface Server {
  readonly version?: string;
  readonly admin?: boolean;
  readonly features?: readonly string[];
}

const needed = ['bots', 'transaction-bundles'];

function answersOf({ version = '5.1.23', admin = true, features = needed }: Server): Record<string, Reply> {
  return {
    '/healthcheck': { body: { ok: true, version } },
    '/oauth2/token': { body: { access_token: accessToken, project: reference, profile: reference } },
    '/auth/me': {
      body: { project: { id: 'p1', name: 'Clinic', ...(admin && { features }) }, membership: { admin }, profile },
    },
  };
}

const connectTo = (server: Server) => {
  const answers = answersOf(server);
  fake.answer = ({ path }) => answers[path];
  fake.verify = () => answers['/auth/me'] ?? {};
  return connect({ baseUrl: fake.url, clientId: 'id', clientSecret: 'secret' });
};

test.each(['5.1.0', '5.1.23-c85c57591', '5.2.13', '6.0.0', 'of our own'])('version %s will do', async (version) => {
  expect(await connectTo({ version })).toMatchObject({ projectId: 'p1' });
});

test.each(['5.0.14', '4.5.2'])('version %s is refused, before anything else', async (version) => {
  await expect(connectTo({ version, features: [] })).rejects.toThrow(
    new RegExp(`^The server runs Medplum ${version}; the service needs 5.1 or later: upgrade Medplum first.$`),
  );
});

test('features that are missing are named', async () => {
  await expect(connectTo({ features: ['bots'] })).rejects.toThrow(/lacks the feature transaction-bundles/);
});

test('others than administrators are told so first', async () => {
  await expect(connectTo({ admin: false })).rejects.toThrow(
    /^(?!.*lacks the feature).*do not belong to an administrator(?!.*lacks the feature)/s,
  );
});
