import type { Resource } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import type { BookingConfig } from '../core/config/config.ts';
import type { CredentialKeys } from '../gateway/sealing/credential-keys.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { type DemoClient, type DemoClientName, ensureClients } from './demo/clients.ts';
import {
  clinic,
  DEMO_CLINIC,
  DEMO_SYSTEM,
  type DemoSchedule,
  demoPatient,
  demoSchedules,
  hoursService,
  toSchedule,
} from './demo/clinic.ts';
import { type StoredSchedule, untilPublished } from './demo/slots.ts';
import { type Deployment, deploy, summary } from './deploy.ts';
import { sealingFrom } from './gateway/settings.ts';
import { type Report, startReport } from './medplum/report.ts';
import { type DesiredResource, upsert } from './medplum/upsert.ts';

/** The demo data that a trial of the service needs. */
export interface Demo {
  readonly clients: Readonly<Record<DemoClientName, DemoClient>>;
  /** References to the demo patients, by the portal that submitted them. */
  readonly patients: Readonly<Record<'Portal A' | 'Portal B', string>>;
  readonly schedules: readonly StoredSchedule[];
}

type Identified = Resource & { identifier?: { value?: string }[] };

const byIdentifier = (resource: Identified): DesiredResource => {
  const value = resource.identifier?.[0]?.value;
  return {
    resource,
    query: `identifier=${encodeURIComponent(`${DEMO_SYSTEM}|${value}`)}`,
    label: `${resource.resourceType} ${value}`,
    merge: (_, stored) => stored,
  };
};

async function ensure(
  { connection }: Deployment,
  resources: readonly Identified[],
  report: Report,
): Promise<(key: string) => string> {
  const ids = await upsert(connection, resources.map(byIdentifier), report);
  const references = new Map(
    resources.map(({ resourceType, identifier }, index) => [identifier?.[0]?.value, `${resourceType}/${ids[index]}`]),
  );
  return (key) => {
    const reference = references.get(key);
    if (!reference) {
      throw new Error(`The demo data has no ${key}`);
    }
    return reference;
  };
}

/**
 * Creates a small clinic with opening hours, two portals and a front desk in a project with the deployed service. The
 * Bots publish its free slots. Existing demo data stays unchanged.
 *
 * @param keys - seal the secrets of the portals
 * @param more - further calendars, each like one of the demo's own
 */
export async function loadDemo(
  deployment: Deployment,
  config: BookingConfig,
  log: (line: string) => void,
  keys: CredentialKeys,
  more: readonly DemoSchedule[] = [],
): Promise<Demo> {
  const report = startReport(log);
  const [clients, found] = await Promise.all([
    ensureClients(deployment, report, keys),
    ensure(deployment, clinic(config), report),
  ]);
  const service = (schedule: DemoSchedule) => hoursService(config, schedule, found('clinic'), found('outpatients'));
  const others = await ensure(
    deployment,
    [
      ...demoSchedules.map(service),
      demoPatient(config, 'patient-a', 'Albers', clients['Portal A'].id),
      demoPatient(config, 'patient-b', 'Bruns', clients['Portal B'].id),
    ],
    report,
  );
  const all = [...demoSchedules, ...more];
  const calendars = all.map((schedule) => {
    const hours = service({ ...schedule, key: schedule.like ?? schedule.key });
    const [, id = ''] = others(hours.identifier?.[0]?.value ?? '').split('/');
    return toSchedule(config, schedule, { ...hours, id }, schedule.practitioner && found(schedule.practitioner));
  });
  const scheduleOf = await ensure(deployment, calendars, report);
  const schedules = all.map((schedule) => ({ ...schedule, reference: scheduleOf(schedule.key) }));
  return { clients, schedules, patients: { 'Portal A': others('patient-a'), 'Portal B': others('patient-b') } };
}

/** The command line. */
export function define(command: Command): void {
  withCredentials(command)
    .description('Deploys the service and adds demo data: a clinic with opening hours, and two portals.')
    .action(main);
}

async function main(given: CredentialArguments): Promise<void> {
  const config = loadConfig(given.config);
  const { keys } = sealingFrom(process.env);
  const quiet = (): void => undefined;
  const deployment = await deploy({ ...credentialsFrom(given), config, log: quiet });
  console.log(summary(deployment.counts));
  const { clients, schedules } = await loadDemo(deployment, config, quiet, keys);
  await untilPublished(deployment.connection, schedules);
  for (const { name, id, secret } of Object.values(clients)) {
    console.log(`${name}: client id ${id}, client secret ${secret}`);
  }
  const { id, secret } = clients['Portal A'];
  console.log('The same command prints them again. For the gateway, to serve the portal for patients:');
  console.log(`export PORTAL_CLIENT_ID=${id} PORTAL_CLIENT_SECRET='${secret}' PORTAL_CLINIC='${DEMO_CLINIC}'`);
}
