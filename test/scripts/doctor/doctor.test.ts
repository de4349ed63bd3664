import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { botSource } from '../../../core/config/bots.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { buildGateway, type GatewayOptions } from '../../../gateway/server.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { assessDoubtful, doubtfulSlots } from '../../../scripts/doctor/calendars.ts';
import type { Row } from '../../../scripts/doctor/check.ts';
import { type DoctorOptions, examine, report } from '../../../scripts/doctor.ts';
import { addClient } from '../../../scripts/requestor/change.ts';
import { keysOf } from '../../gateway/sealing/keys.ts';
import { codeOf, config, present, startInstallation } from '../installation.ts';

const installation = await startInstallation();
const { baseUrl, clientId, clientSecret } = installation.sandbox;
const options: DoctorOptions = {
  config,
  credentials: { baseUrl, clientId, clientSecret },
  bookingsPerMinute: 60,
  code: codeOf(await bundleBot(botSource('book'), config)),
};
const bare: readonly Row[] = await examine(options);
const deployment = await installation.deploy();

const rowOf = (rows: readonly Row[], check: string): Row => present(rows.find((row) => row.check === check));

const examined = async (check: string): Promise<Row> => rowOf(await examine(options), check);

test('an installation in order has no errors, and nothing is left behind', async () => {
  const rows = await examine(options);
  expect(rows.filter(({ level }) => level === 'error')).toEqual([]);
  expect(rowOf(rows, 'Bots run').level).toBe('ok');
  expect(rowOf(rows, "Medplum's address")).toMatchObject({
    level: 'ok',
    found: expect.stringContaining(new URL(installation.sandbox.baseUrl).hostname),
  });
  expect(rowOf(rows, 'consistency').found).toBe('appointments and slots agree');
  expect(await deployment.connection.medplum.searchResources('Basic')).toHaveLength(0);
});

test('a code system that a schedule names and nobody is shown is found, with what to create', async () => {
  const check = 'code systems of services';
  expect(await examined(check)).toMatchObject({ level: 'ok' });
  const { medplum } = deployment.connection;
  const system = 'https://clinic.example/services';
  const schedule = await medplum.createResource({
    resourceType: 'Schedule',
    actor: [{ display: 'Room 1' }],
    serviceType: [
      { coding: [{ system, code: 'x-ray' }] },
      // Medplum's own code for every service: no portal has to find it.
      { coding: [{ system: 'https://medplum.com/fhir/CodeSystem/scheduling-service-type', code: 'all' }] },
    ],
  });
  const missing = await examined(check);
  expect(missing).toMatchObject({ level: 'warning', help: expect.stringContaining('ResourceUsage') });
  expect(missing.found).toBe(`${system}, named by Schedule/${schedule.id}, is not there`);
  const usage = (type: string) => ({
    code: { system: config.contextTypeSystem, code: 'ResourceUsage' },
    valueCodeableConcept: { coding: [{ system: config.resourceTypesSystem, code: type }] },
  });
  const codeSystem = await medplum.createResource({
    resourceType: 'CodeSystem',
    url: system,
    status: 'active',
    content: 'not-present',
    useContext: [usage('HealthcareService')],
  });
  expect((await examined(check)).found).toContain('is not found for Schedule (useContext)');
  await medplum.updateResource({ ...codeSystem, useContext: [usage('HealthcareService'), usage('Schedule')] });
  expect(await examined(check)).toMatchObject({ level: 'ok' });
  await medplum.updateResource({ ...schedule, active: false });
  await medplum.deleteResource('CodeSystem', codeSystem.id);
  expect(await examined(check)).toMatchObject({ level: 'ok' });
});

test("Medplum's default limit of bodies is found, with the setting that helps", async () => {
  expect(await examined('body size')).toMatchObject({ level: 'warning', help: expect.stringContaining('maxJsonSize') });
});

test('a server without the service: what is missing is named, and the command that helps', () => {
  expect(rowOf(bare, 'Bots run')).toMatchObject({ level: 'error', help: 'npm run deploy' });
  expect(rowOf(bare, 'deployed Bots')).toMatchObject({
    level: 'error',
    found: expect.stringContaining('Bot book (missing)'),
    help: 'npm run deploy',
  });
  expect(rowOf(bare, 'internal Subscriptions').found).toContain('(missing)');
});

describe('what has changed since the deployment is found:', () => {
  test('other code of a Bot', async () => {
    const code = codeOf('exports.handler = async () => 42;');
    expect(rowOf(await examine({ ...options, code }), 'deployed Bots')).toEqual({
      check: 'deployed Bots',
      level: 'error',
      found: expect.stringMatching(/^1 of \d+: Bot book \(out of date\)$/),
      help: 'npm run deploy',
    });
  });

  test('a policy', async () => {
    const { medplum } = deployment.connection;
    const policy = await medplum.readResource('AccessPolicy', present(deployment.policies.requestor));
    await medplum.updateResource({ ...policy, resource: [{ resourceType: 'Slot' }] });
    expect((await examined('profiles, policies')).found).toContain(
      'AccessPolicy Appointment booking: requestor (out of date)',
    );
    await medplum.updateResource(policy);
    expect((await examined('profiles, policies')).level).toBe('ok');
  });

  test('a Subscription that was switched off', async () => {
    const { medplum } = deployment.connection;
    const _tag = `${artefactUri(config, 'LocalBot')}|task-requested`;
    const subscription = present(await medplum.searchOne('Subscription', { _tag }));
    await medplum.updateResource({ ...subscription, status: 'off' });
    expect(await examined('internal Subscriptions')).toMatchObject({ level: 'error', found: 'task-requested (off)' });
    await medplum.updateResource({ ...subscription, status: 'active' });
  });

  test('an appointment whose slot is free', async () => {
    const { medplum } = deployment.connection;
    const schedule = await medplum.createResource({ resourceType: 'Schedule', actor: [{ display: 'Somebody' }] });
    const time = { start: '2030-01-01T10:00:00Z', end: '2030-01-01T11:00:00Z' };
    const reference = `Schedule/${schedule.id}`;
    const slot = await medplum.createResource({
      resourceType: 'Slot',
      status: 'free',
      schedule: { reference },
      ...time,
    });
    const appointment = await medplum.createResource({
      resourceType: 'Appointment',
      status: 'booked',
      slot: [{ reference: `Slot/${slot.id}` }],
      participant: [{ actor: { display: 'Somebody' }, status: 'accepted' }],
      ...time,
    });
    expect(await examined('consistency')).toMatchObject({ level: 'error', help: expect.stringContaining('check') });
    await medplum.deleteResource('Appointment', appointment.id);
    await medplum.deleteResource('Slot', slot.id);
  });
});

describe('the gateway', () => {
  /** What is found of a gateway with these options. */
  async function examinedWith(own: Partial<GatewayOptions>, path = ''): Promise<Row> {
    const sealing = { keys: keysOf(1), unsealed: 'refused' as const };
    const gateway = buildGateway({ config, medplumBaseUrl: baseUrl, sealing, ...own });
    const origin = await gateway.listen({ port: 0, host: '127.0.0.1' });
    const rows = await examine({ ...options, gatewayUrl: `${origin}${path}` });
    await gateway.close();
    return rowOf(rows, 'gateway');
  }

  test.each([
    ['is in order with the same configuration', config.baseUrl, 'ok', ''],
    ['is found by the address of its FHIR interface, too', config.baseUrl, 'ok', '/fhir/R4/'],
    ['is at fault with another address', 'http://elsewhere.example/fhir/R4', 'error', ''],
  ])('%s', async (_, baseUrl, level, path) => {
    const row = await examinedWith({ config: { ...config, baseUrl } }, path);
    expect(row).toMatchObject({ level, found: expect.stringContaining(baseUrl) });
  });

  test('that runs the Bots elsewhere than the deployment says is at fault', async () => {
    const row = await examinedWith({ config: { ...config, bots: 'gateway' } });
    expect(row).toMatchObject({ level: 'error', found: expect.stringContaining('runs Bots in gateway') });
  });

  test('that does not answer, or does not reach Medplum, is at fault', async () => {
    const dead = await examine({ ...options, gatewayUrl: 'http://127.0.0.1:1/' });
    expect(rowOf(dead, 'gateway')).toMatchObject({ level: 'error', help: expect.stringContaining('npm run gateway') });
    const proxy = createServer((_, response) => response.writeHead(502).end()).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = Object.assign({ port: 0 }, proxy.address());
    const behind = await examine({ ...options, gatewayUrl: `http://127.0.0.1:${port}/` });
    proxy.close();
    expect(rowOf(behind, 'gateway')).toMatchObject({
      level: 'error',
      help: expect.stringContaining('npm run gateway'),
    });
    const row = await examinedWith({ medplumBaseUrl: 'http://127.0.0.1:1/' });
    expect(row).toMatchObject({ level: 'error', help: expect.stringContaining('MEDPLUM_BASE_URL') });
  });

  test('behind a proxy that keeps its state to itself is not said to miss Medplum', async () => {
    const hidden = await examine({ ...options, gatewayUrl: baseUrl });
    const help = expect.stringContaining("the gateway's own address");
    expect(rowOf(hidden, 'gateway')).toMatchObject({ level: 'error', help });
  });

  test('that nobody has named is not examined', async () => {
    expect(await examined('gateway')).toMatchObject({
      level: 'warning',
      help: expect.stringContaining('--gateway-url'),
    });
  });
});

describe('credentials', () => {
  const withCredentials = (changes: Partial<DoctorOptions['credentials']>): Promise<Row[]> =>
    examine({ ...options, credentials: { ...options.credentials, ...changes } });

  test('that are refused, and servers that are not there, end the examination', async () => {
    expect(await withCredentials({ clientSecret: 'wrong' })).toMatchObject([
      { check: 'connection', level: 'error', found: expect.stringContaining('--client-secret') },
    ]);
    expect(await withCredentials({ baseUrl: 'http://127.0.0.1:1/' })).toMatchObject([
      { check: 'connection', level: 'error', found: expect.stringContaining('No Medplum server answers') },
    ]);
  });

  test('of a portal are found to be no administrator; what they cannot read is said so', async () => {
    const { id, secret } = await addClient(deployment.connection, 'Portal');
    const rows = await withCredentials({ clientId: id, clientSecret: secret });
    expect(rowOf(rows, 'credentials')).toMatchObject({
      level: 'error',
      help: expect.stringContaining('admin to true'),
    });
    expect(rowOf(rows, 'deployed Bots').found).toContain('the check failed');
  });
});

test('the report is a table with the help below each finding, and a summary', () => {
  expect(
    report([
      { check: 'one', level: 'ok', found: 'fine' },
      { check: 'another', level: 'error', found: 'bad', help: 'npm run deploy' },
    ]),
  ).toBe(
    '       check    found\nok     one      fine\nerror  another  bad\n                → npm run deploy\n\n1 error, 0 warnings.',
  );
});

test('busy slots that no appointment names, and those that will take time from one service alone, are named', () => {
  const slot = (id: string, more: object) => ({
    ...{ resourceType: 'Slot' as const, id, schedule: {}, start: '', end: '', status: 'busy' as const },
    ...{ meta: { lastUpdated: '2027-01-01T00:00:00Z' }, ...more },
  });
  const found = [
    slot('left', {}),
    slot('young', { meta: { lastUpdated: '2027-01-01T00:09:30Z' } }),
    slot('held', { serviceType: [{ text: 'CT' }] }),
    slot('block', { status: 'busy-unavailable', serviceType: [{ text: 'CT' }] }),
    {
      resourceType: 'Appointment' as const,
      status: 'booked' as const,
      participant: [],
      slot: [{ reference: 'Slot/held' }],
    },
  ];
  const doubtful = doubtfulSlots(found, Date.parse('2027-01-01T00:10:00Z'));
  expect(doubtful).toEqual({ ofNobody: ['Slot/left'], ofOneService: ['Slot/held'] });
  expect(assessDoubtful(doubtful)).toEqual(
    expect.objectContaining({
      level: 'warning',
      found: expect.stringMatching(/1 are busy without an appointment: Slot\/left\. 1 name a service/),
    }),
  );
});
