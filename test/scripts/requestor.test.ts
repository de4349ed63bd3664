import { expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { Appointment, Subscription } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { requestorTag } from '../../core/fhir/tags.ts';
import { openSecret } from '../../gateway/sealing/sealed-secret.ts';
import type { ClientCredentials } from '../../scripts/medplum/membership.ts';
import { addClient, removeClient, retireSecret, rotateSecret } from '../../scripts/requestor/change.ts';
import { memberNamed, members } from '../../scripts/requestor/members.ts';
import { isSealed, sealCredentials, secretStates } from '../../scripts/requestor/sealing.ts';
import { keysOf } from '../gateway/sealing/keys.ts';
import { config, startInstallation } from './installation.ts';

const installation = await startInstallation();
const { connection } = await installation.deploy();
const portal = await addClient(connection, 'Portal');

async function logIn({ id, secret }: ClientCredentials): Promise<MedplumClient> {
  const medplum = new MedplumClient({ baseUrl: installation.sandbox.baseUrl, cacheTime: 0 });
  await medplum.startClientLogin(id, secret);
  return medplum;
}

const clientNamed = async (name: string) => (await memberNamed(connection, name)).client;

const appointmentOf = (requestor: string): Appointment => ({
  resourceType: 'Appointment',
  meta: { tag: [requestorTag(requestor, config)] },
  status: 'booked',
  start: '2030-01-01T10:00:00Z',
  end: '2030-01-01T11:00:00Z',
  participant: [{ actor: { display: 'Somebody' }, status: 'accepted' }],
});

test('a requestor can log in, finds schedules, and writes no appointments', async () => {
  const medplum = await logIn(portal);
  expect(await medplum.searchResources('Schedule')).toHaveLength(0);
  await expect(medplum.createResource(appointmentOf(portal.id))).rejects.toThrow('Forbidden');
});

test('a name that is taken is refused, with what to do', async () => {
  await expect(addClient(connection, 'Portal')).rejects.toThrow(
    new RegExp(`${portal.id} is already named "Portal".*rotate ${portal.id}`),
  );
});

test('a consumer reads the appointments of its requestor and no other', async () => {
  const [other, consumer] = [
    await addClient(connection, 'Other portal'),
    await addClient(connection, 'Reader', 'Portal'),
  ];
  const mine = await connection.medplum.createResource(appointmentOf(portal.id));
  await connection.medplum.createResource(appointmentOf(other.id));
  const medplum = await logIn(consumer);
  const found = await medplum.searchResources('Appointment');
  expect(found.map(({ id }) => id)).toEqual([mine.id]);
  await expect(medplum.searchResources('Patient')).rejects.toThrow('Forbidden');
});

test('a rotated secret works, and without $rotate-secret the old one has ended', async () => {
  const old = await addClient(connection, 'Rotating');
  const rotation = await rotateSecret(connection, await clientNamed('Rotating'));
  expect(rotation).toEqual({ id: old.id, secret: expect.stringMatching(/^[0-9a-f]{64}$/), isOldSecretValid: false });
  await logIn(rotation);
  await expect(logIn(old)).rejects.toThrow('Invalid secret');
  expect(await retireSecret(connection, await clientNamed(old.id))).toBe('There is no old secret.');
});

test('a secret that is handed out sealed is noted, and a new one counts as not sealed until it is', async () => {
  const [old, recent] = [keysOf(1), keysOf(2, 1)];
  const own = await addClient(connection, 'Sealed');
  const states = async () =>
    secretStates(await connection.medplum.readResource('ClientApplication', own.id, { cache: 'reload' }));
  expect(isSealed(await states())).toBe(false);
  const { id, secret } = await sealCredentials(connection, own, old);
  expect([id, openSecret(recent, id, secret)]).toEqual([own.id, own.secret]);
  expect(await states()).toEqual({ current: { key: old[0].id }, hasOwnKeys: false });
  await expect(logIn({ id, secret })).rejects.toThrow('Invalid secret');
  const rotated = await rotateSecret(connection, await clientNamed('Sealed'));
  expect(await states()).toEqual({ current: 'unsealed', hasOwnKeys: false });
  await sealCredentials(connection, rotated, recent);
  expect(await states()).toEqual({ current: { key: recent[0].id }, hasOwnKeys: false });
  const { client } = (await members(connection)).find((member) => member.client.id === id) ?? {};
  expect(client?.meta?.tag).toHaveLength(1);
  await removeClient(connection, 'Sealed', config);
});

test('of a client that was deleted in Medplum the membership is listed, and removed by its id', async () => {
  const { id } = await addClient(connection, 'Deleted');
  await connection.medplum.deleteResource('ClientApplication', id);
  const left = async () => (await members(connection)).filter(({ client }) => client.id === id);
  expect(await left()).toMatchObject([{ client: { name: '(deleted)' } }]);
  await removeClient(connection, id, config);
  expect(await left()).toEqual([]);
});

const aSubscription = (requestor: string) =>
  connection.medplum.createResource<Subscription>({
    resourceType: 'Subscription',
    meta: { tag: [requestorTag(requestor, config)] },
    status: 'active',
    reason: 'Notifications',
    criteria: artefactUri(config, 'LocalTermin'),
    channel: { type: 'rest-hook', endpoint: 'https://portal.example.org/' },
  });

test('a removal that is broken off leaves no Subscription that delivers, can be repeated, and frees the name', async () => {
  const { id } = await addClient(connection, 'Half gone');
  const subscription = await aSubscription(id);
  const { medplum } = connection;
  const killed = async (...what: Parameters<MedplumClient['deleteResource']>) => {
    await medplum.deleteResource(...what);
    throw new Error('killed');
  };
  const dying = { ...connection, medplum: Object.create(medplum, { deleteResource: { value: killed } }) };
  await expect(removeClient(dying, id, config)).rejects.toThrow('killed');
  expect(await medplum.readResource('Subscription', subscription.id, { cache: 'reload' })).toMatchObject({
    status: 'off',
  });
  expect(await removeClient(connection, id, config)).toMatchObject({ member: { client: { id } } });
  await addClient(connection, 'Half gone');
  await removeClient(connection, 'Half gone', config);
});

test('a removed requestor cannot log in; its appointments stay, its Subscriptions are off', async () => {
  const leaving = await addClient(connection, 'Leaving');
  const stays = await connection.medplum.createResource(appointmentOf(leaving.id));
  const subscription = await aSubscription(leaving.id);
  expect(await removeClient(connection, 'Leaving', config)).toMatchObject({ subscriptions: 1 });
  await expect(logIn(leaving)).rejects.toThrow('Invalid client');
  expect(await connection.medplum.readResource('Appointment', stays.id)).toMatchObject({ status: 'booked' });
  expect(await connection.medplum.readResource('Subscription', subscription.id)).toMatchObject({ status: 'off' });
  await expect(removeClient(connection, 'Leaving', config)).rejects.toThrow('no requestor or consumer "Leaving"');
});
