import { expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { Bot, ClientApplication, Subscription } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { findGatewayClient } from '../../../scripts/deploy/gateway-client.ts';
import { deploy } from '../../../scripts/deploy.ts';
import { assessGatewayClient } from '../../../scripts/doctor/gateway.ts';
import { rotateSecret } from '../../../scripts/requestor/change.ts';
import { config, present, startInstallation } from '../installation.ts';

const inGateway = { ...config, bots: 'gateway' as const };

const installation = await startInstallation();
await installation.deploy();
const deployment = await installation.deploy({ config: inGateway });

const client = async (): Promise<ClientApplication> => present(await findGatewayClient(deployment.connection));

const membership = async () =>
  deployment.connection.medplum.searchOne('ProjectMembership', { profile: `ClientApplication/${(await client()).id}` });

async function guard(): Promise<string> {
  const tag = `${artefactUri(config, 'LocalBot')}|appointment-guarded`;
  const found: Subscription = present(await deployment.connection.medplum.searchOne('Subscription', { _tag: tag }));
  return JSON.stringify(found.extension);
}

async function logIn(secret = ''): Promise<MedplumClient> {
  const medplum = new MedplumClient({ baseUrl: installation.sandbox.baseUrl, cacheTime: 0 });
  await medplum.startClientLogin((await client()).id ?? '', secret);
  return medplum;
}

test('a deployment makes the client with the rights of the Bots, and counts it as the service', async () => {
  expect(await membership()).toMatchObject({
    accessPolicy: { reference: `AccessPolicy/${deployment.policies.bots}` },
  });
  expect((await membership())?.admin ?? false).toBe(false);
  expect(await guard()).toContain(`ClientApplication/${deployment.gatewayClient}`);
});

test('its id is built into the Bots', async () => {
  const { medplum } = deployment.connection;
  const identifier = `${artefactUri(config, 'LocalBot')}|validate-slot`;
  const bot: Bot = present(await medplum.searchOne('Bot', { identifier }));
  const code = await (await medplum.download(bot.executableCode?.url ?? '')).text();
  expect(code).toContain(deployment.gatewayClient);
});

test('a second deployment changes nothing', async () => {
  const { counts } = await installation.deploy({ config: inGateway });
  expect([counts.created, counts.updated, counts.removed]).toEqual([0, 0, 0]);
});

test('a rotated secret works; with it the client reads what the Bots read, and no secret of the administration', async () => {
  const { connection } = deployment;
  const found = present(await findGatewayClient(connection));
  const { secret } = await rotateSecret(connection, found);
  const medplum = await logIn(secret);
  expect(await medplum.searchResources('Appointment')).toHaveLength(0);
  const clients = await medplum.searchResources('ClientApplication');
  expect(
    clients
      .flatMap((clientApplication) => [clientApplication.secret, clientApplication.retiringSecret])
      .filter(Boolean),
  ).toEqual([]);
  await expect(medplum.searchResources('ProjectMembership')).rejects.toThrow('Forbidden');
});

test('where Medplum runs the Bots again its access ends, and it still counts as the service', async () => {
  const { gatewayClient } = await installation.deploy();
  expect(gatewayClient).toBe(deployment.gatewayClient);
  expect(await membership()).toBeUndefined();
  expect(await guard()).toContain(`ClientApplication/${gatewayClient}`);
  await installation.deploy({ config: inGateway });
  expect(await membership()).toMatchObject({ accessPolicy: { reference: `AccessPolicy/${deployment.policies.bots}` } });
});

test('an uninstallation ends its access', async () => {
  const { uninstall } = await import('../../../scripts/deploy/uninstall.ts');
  const { baseUrl, clientId, clientSecret } = installation.sandbox;
  await uninstall({ baseUrl, clientId, clientSecret, config, log: () => undefined });
  expect(await membership()).toBeUndefined();
  await deploy({ baseUrl, clientId, clientSecret, config: inGateway, log: () => undefined });
  expect(await membership()).toBeDefined();
});

test.each([
  ['medplum', undefined, 'ok'],
  ['medplum', {}, 'error'],
  ['gateway', undefined, 'error'],
  ['gateway', {}, 'ok'],
  ['gateway', { admin: true }, 'error'],
] as const)('the doctor: Bots in %s, membership %j: %s', (bots, found, level) => {
  expect(assessGatewayClient({ isThere: true, membership: found }, { config: { bots } }).level).toBe(level);
});
