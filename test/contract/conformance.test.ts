/** The checks of the conformance kit, each of them a test, at the installation under test and for what it claims. */
import { randomInt, randomUUID } from 'node:crypto';
import {
  allChecks,
  beginExamination,
  type Client as Caller,
  checksOf,
  clientOf,
  type Examination,
  type Listener,
  listen,
  type Step,
  stageOf,
} from '@appointment-booking/conformance';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadSettings } from '../../scripts/cli/load-config.ts';
import { scaled } from '../lib/time-scale.ts';
import { aClient, type Client, removeClient } from './clients.ts';
import { ct } from './fixtures.ts';
import { base, config, medplumBase, nextGateway, tokenOf } from './installation.ts';

const stage = stageOf(loadSettings());

/** It judges every Schedule of the installation, also those that other tests make with code systems of their own. */
const JUDGES_ALL = 'code-systems-exposed';

/** A slow machine takes longer to do what is waited for. */
const patient = (step: Step): Step => (step.within === undefined ? step : { ...step, within: scaled(step.within) });

const checks = checksOf(stage, allChecks)
  .filter(({ name }) => name !== JUDGES_ALL)
  .map((check) => ({ ...check, steps: check.steps.map(patient) }));

/** A caller whose requests are spread among the gateways. */
const caller = (token?: string): Caller => ({
  baseUrl: base,
  send: (sent) => clientOf(sent.path.startsWith('/') ? nextGateway() : base, token).send(sent),
});

/** Ten o'clock on a day that no other run and no other test has. */
const from = Date.parse('2033-01-01T10:00:00Z') + randomInt(10_000) * 86_400_000;

let portal: Client;
let listener: Listener;
let examination: Examination;

beforeAll(async () => {
  portal = await aClient('Appointment booking: requestor');
  listener = await listen({ port: 0 });
  const { system = '', code = '' } = ct.coding[0] ?? {};
  examination = beginExamination({
    stage,
    config,
    requestor: caller(portal.token),
    staff: clientOf(medplumBase, await tokenOf('front-desk', 'medplum')),
    nobody: caller(),
    listener,
    given: {},
    serviceType: { system, code },
    run: randomUUID(),
    from,
  });
}, scaled(30_000));

afterAll(async () => {
  const left = await examination.end();
  await listener.close();
  await removeClient(portal);
  expect(left).toEqual([]);
}, scaled(30_000));

it.each(checks.map((check) => [check.name, check.rule, check] as const))(
  '%s: %s',
  async (_, __, check) => {
    const { conclusion, reason } = await examination.examine(check);
    expect([conclusion, reason]).toEqual(['passed', '']);
  },
  scaled(120_000),
);
