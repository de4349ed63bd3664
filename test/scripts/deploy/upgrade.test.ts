import { beforeAll, describe, expect, test } from '@jest/globals';
import type { MedplumClient, WithId } from '@medplum/core';
import type { Bot, Subscription } from '@medplum/fhirtypes';
import { bots } from '../../../core/config/bots.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { internalSubscriptions } from '../../../profiles/subscriptions.ts';
import { uninstall } from '../../../scripts/deploy/uninstall.ts';
import { deploy } from '../../../scripts/deploy.ts';
import { codeOf, config, type Installation, present, startInstallation } from '../installation.ts';

/** Bots of another version that this one does not have; those with a schedule ran every minute. */
const renamed = {
  submit: undefined,
  work: '* * * * *',
  drop: undefined,
  guard: undefined,
  follow: undefined,
  depart: undefined,
  subscribe: undefined,
  report: undefined,
  announce: undefined,
  handshake: undefined,
  deliver: undefined,
  sweep: '* * * * *',
} as const;

/** Which of them each internal Subscription of that version started. */
const startedBots: Readonly<Record<string, keyof typeof renamed>> = {
  'task-requested': 'work',
  'appointment-guarded': 'guard',
  'appointment-status-changed': 'follow',
  'appointment-deleted': 'follow',
  'patient-gone': 'depart',
  'patient-deleted': 'depart',
  'patient-booked': 'depart',
  'appointment-changed': 'announce',
  'outbox-ready': 'deliver',
  'subscription-requested': 'handshake',
};

const trivial = 'exports.handler = async () => true;';
const system = artefactUri(config, 'LocalBot');

let installation: Installation;
let medplum: MedplumClient;
let projectId: string;
let policy: string;
/** Ids of the old Bots. */
const old = new Map<string, string>();

/** Makes a Bot as the deployment of that version did. */
async function deployOld(name: keyof typeof renamed): Promise<void> {
  const { id } = await medplum.post<WithId<Bot>>(`admin/projects/${projectId}/bot`, {
    name,
    runtimeVersion: 'vmcontext',
    accessPolicy: { reference: policy },
  });
  const cronString = renamed[name];
  await medplum.updateResource<Bot>({
    ...(await medplum.readResource('Bot', id)),
    identifier: [{ system, value: name }],
    timeout: 10,
    auditEventDestination: ['log'],
    ...(cronString && { cronString }),
  });
  await medplum.post(medplum.fhirUrl('Bot', id, '$deploy'), { code: trivial, filename: `${name}.js` });
  old.set(name, id);
}

const deployedNames = async (): Promise<(string | undefined)[]> =>
  (await medplum.searchResources('Bot', '_count=1000')).flatMap(({ identifier = [] }) =>
    identifier.filter((one) => one.system === system).map(({ value }) => value),
  );

const startingSubscriptions = async (): Promise<Subscription[]> =>
  (await medplum.searchResources('Subscription', '_count=1000')).filter(({ channel }) =>
    channel.endpoint?.startsWith('Bot/'),
  );

const membershipsOf = (id: string | undefined) =>
  medplum.searchResources('ProjectMembership', { profile: `Bot/${id}` });

/** Puts a project into the state in which that version has left it. */
async function downgrade(): Promise<void> {
  for (const name of Object.keys(renamed) as (keyof typeof renamed)[]) {
    await deployOld(name);
  }
  for (const subscription of await startingSubscriptions()) {
    const tag = subscription.meta?.tag?.find((coding) => coding.system === system)?.code ?? '';
    const endpoint = `Bot/${old.get(startedBots[tag] ?? '')}`;
    await medplum.updateResource({ ...subscription, channel: { ...subscription.channel, endpoint } });
  }
  const [first] = internalSubscriptions(config);
  await medplum.createResource<Subscription>({
    ...present(first).resource,
    meta: { tag: [{ system, code: 'renamed-since' }] },
    channel: { type: 'rest-hook', payload: 'application/fhir+json', endpoint: `Bot/${old.get('work')}` },
  });
  for (const bot of await medplum.searchResources('Bot', '_count=1000')) {
    const name = bot.identifier?.[0]?.value ?? '';
    if (!Object.hasOwn(renamed, name) && !['book', 'patch', 'reconcile'].includes(name)) {
      await medplum.deleteResource('Bot', bot.id);
    }
  }
}

beforeAll(async () => {
  installation = await startInstallation();
  const first = await installation.deploy({ code: trivial });
  ({ medplum, projectId } = first.connection);
  policy = `AccessPolicy/${first.policies.bots}`;
  await downgrade();
});

describe('a deployment over another version', () => {
  test('a dry run lists what would be removed, and removes nothing', async () => {
    await installation.deploy({ code: trivial, dryRun: true });
    const removed = installation.lines.filter((line) => line.startsWith('would be removed'));
    expect(removed.toSorted()).toEqual(
      [
        ...Object.keys(renamed).map((name) => `would be removed  Bot ${name}`),
        'would be removed  Subscription renamed-since',
      ].toSorted(),
    );
    expect(await deployedNames()).toEqual(expect.arrayContaining(Object.keys(renamed)));
  });

  test('interrupted while it removes, it leaves no Bot that runs and is not found again', async () => {
    const deleted: string[] = [];
    const { baseUrl, clientId, clientSecret } = installation.sandbox;
    const interrupted = deploy({
      baseUrl,
      clientId,
      clientSecret,
      config,
      code: codeOf(trivial),
      log: (line) => {
        if (line.startsWith('removed  Bot') && deleted.push(line) === 2) {
          throw new Error('killed');
        }
      },
    });
    await expect(interrupted).rejects.toThrow('killed');
    expect((await deployedNames()).filter((name) => Object.hasOwn(renamed, name ?? ''))).toHaveLength(10);
    expect((await startingSubscriptions()).map(({ channel }) => channel.endpoint)).not.toContain(
      `Bot/${old.get('work')}`,
    );
  });

  test('the next one removes the rest and says so', async () => {
    const { counts } = await installation.deploy({ code: trivial });
    expect(counts).toMatchObject({ created: 0, removed: 10 });
    expect(installation.lines).toContain('removed  Bot sweep');
  });

  test('nothing old is left: no Bot, no membership, no schedule, no Subscription', async () => {
    expect((await deployedNames()).toSorted()).toEqual(Object.keys(bots).toSorted());
    for (const id of old.values()) {
      expect(await membershipsOf(id)).toHaveLength(0);
    }
    const own = await medplum.searchResources('Bot', '_count=1000');
    const started = new Set(own.map(({ id }) => `Bot/${id}`));
    const subscriptions = await startingSubscriptions();
    expect(subscriptions).toHaveLength(internalSubscriptions(config).length);
    expect(subscriptions.filter(({ channel }) => !started.has(channel.endpoint ?? ''))).toEqual([]);
    const written = JSON.stringify(subscriptions);
    expect([...old.values()].filter((id) => written.includes(id))).toEqual([]);
  });

  test('a Bot is off the clock before it is deleted', async () => {
    const history = await medplum.readHistory('Bot', present(old.get('sweep')));
    const versions = (history.entry ?? []).flatMap(({ resource }) => (resource ? [resource] : []));
    expect(versions[0]?.cronString).toBeUndefined();
    expect(versions[1]?.cronString).toBe('* * * * *');
  });
});

describe('deploy --remove', () => {
  const run = (dryRun: boolean) => {
    const { baseUrl, clientId, clientSecret } = installation.sandbox;
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    return uninstall({ baseUrl, clientId, clientSecret, config, dryRun, log }).then((counts) => ({ counts, lines }));
  };

  test('a dry run lists everything by which the service acts, and removes nothing', async () => {
    const { counts, lines } = await run(true);
    expect(lines).toEqual(
      expect.arrayContaining(['would be removed  Bot book', 'would be removed  Subscription task-requested']),
    );
    expect(lines.filter((line) => line.includes('OperationDefinition'))).not.toEqual([]);
    expect(counts.removed).toBe(lines.length);
    expect(await deployedNames()).toHaveLength(Object.keys(bots).length);
  });

  test('a policy that somebody has stays, the others go; so do Bots, Subscriptions and operations', async () => {
    const requestor = present(await medplum.searchOne('AccessPolicy', { 'name:contains': 'equestor' }));
    const accessPolicy = { reference: `AccessPolicy/${requestor.id}` };
    await medplum.post(`admin/projects/${projectId}/client`, { name: 'Portal', accessPolicy });
    const patient = await medplum.createResource({ resourceType: 'Patient' });
    const { lines } = await run(false);
    expect(lines.filter((line) => line.includes('AccessPolicy'))).not.toEqual([]);
    expect(await deployedNames()).toEqual([]);
    expect(await startingSubscriptions()).toEqual([]);
    expect(await medplum.searchResources('OperationDefinition', { code: 'book' })).toHaveLength(0);
    expect((await medplum.searchResources('AccessPolicy', '_count=100')).map(({ id }) => id)).toContain(requestor.id);
    expect(await medplum.readResource('Patient', patient.id)).toMatchObject({ id: patient.id });
    expect(
      await medplum.searchResources('StructureDefinition', { url: artefactUri(config, 'LocalTermin') }),
    ).toHaveLength(1);
  });
});
