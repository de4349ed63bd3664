import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { MedplumClient, WithId } from '@medplum/core';
import type { Parameters, Project, ProjectMembership } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { keyBytes } from '../gateway/sealing/sealer.ts';
import { writeSettings } from './cli/settings-file.ts';
import { wholeNumber } from './cli/whole-number.ts';
import { type Connection, type Credentials, logIn } from './medplum/connect.ts';
import { withSlash } from './medplum/http.ts';
import { type ClientCredentials, createClient, credentialsOf, requireMembership } from './medplum/membership.ts';
import { type ProjectWishes, withWishes } from './medplum/project-features.ts';

const ADMINISTRATOR = 'Appointment booking: administrator';

/** Options for a new installation. */
export interface BootstrapOptions extends ProjectWishes {
  /** Server and ClientApplication of a super administrator. */
  readonly superAdministrator: Credentials;
  /** Name of the project; an existing one is completed, not created again. */
  readonly project: string;
  /** E-mail address of a user of the server who is to own a new project and can log in to it in Medplum's app. */
  readonly owner?: string | undefined;
}

/** A project to which the service can be deployed, with the credentials of its administrator. */
export interface Bootstrapped extends Credentials {
  readonly projectId: string;
}

async function createProject(medplum: MedplumClient, name: string, owner?: string): Promise<WithId<Project>> {
  const body: Parameters = {
    resourceType: 'Parameters',
    parameter: [{ name: 'name', valueString: name }, ...(owner ? [{ name: 'ownerEmail', valueString: owner }] : [])],
  };
  try {
    return await medplum.post<WithId<Project>>(medplum.fhirUrl('Project', '$init'), body);
  } catch (error) {
    const hint =
      ' For a new user Medplum asks a public service (api.pwnedpasswords.com) whether the password is known. ' +
      'If the server cannot reach it, name a user who exists.';
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `POST Project/$init${owner ? ` with the owner ${owner}` : ''} failed: ${reason}.${owner ? hint : ''}`,
      {
        cause: error,
      },
    );
  }
}

async function ensureProject(medplum: MedplumClient, options: BootstrapOptions): Promise<WithId<Project>> {
  const found = await medplum.searchResources('Project', { 'name:exact': options.project });
  if (found.length > 1) {
    throw new Error(`The server has ${found.length} projects named ${options.project}. Choose another name.`);
  }
  const project = found[0] ?? (await createProject(medplum, options.project, options.owner));
  const desired = withWishes(project, options);
  return desired === project ? project : medplum.updateResource(desired);
}

async function ensureAdministrator(connection: Connection): Promise<ClientCredentials> {
  const { medplum, projectId } = connection;
  const found = await medplum.searchOne('ClientApplication', { _project: projectId, 'name:exact': ADMINISTRATOR });
  const client = found ?? (await createClient(connection, { name: ADMINISTRATOR }));
  const membership = await requireMembership(connection, `ClientApplication/${client.id}`);
  if (!membership.admin) {
    await medplum.updateResource<ProjectMembership>({ ...membership, admin: true });
  }
  return credentialsOf(client);
}

/**
 * Creates a project for the service, with the features and settings that it needs, and a ClientApplication that
 * administers it. Existing parts stay, and missing ones are added.
 *
 * @returns credentials of the project's administrator
 * @throws Error that says what to do when the server cannot be reached, or the credentials are not a super
 *   administrator's
 */
export async function bootstrap(options: BootstrapOptions): Promise<Bootstrapped> {
  const { baseUrl } = options.superAdministrator;
  const { medplum, me } = await logIn(options.superAdministrator);
  if (!me.project.superAdmin) {
    throw new Error(
      'These credentials do not belong to a super administrator of the server. Use a ClientApplication of the project ' +
        'Super Admin, or the one that the server was first started with (defaultSuperAdminClientId).',
    );
  }
  const { id: projectId } = await ensureProject(medplum, options);
  const { id, secret } = await ensureAdministrator({ medplum, projectId });
  return { baseUrl, projectId, clientId: id, clientSecret: secret };
}

/**
 * Waits until a server reports that it is healthy.
 *
 * @throws Error after this many seconds
 */
export async function waitForServer(baseUrl: string, seconds: number): Promise<void> {
  const url = new URL('healthcheck', withSlash(baseUrl));
  for (const end = Date.now() + seconds * 1000; ; await delay(500)) {
    const isWell = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isWell) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(
        `No Medplum server answers at ${url}. Check --base-url (MEDPLUM_BASE_URL) and that the server runs. ` +
          'A new server takes some minutes to start: wait for it with --wait 300 (seconds).',
      );
    }
  }
}

/**
 * The key that seals the credentials of portals: the one in use, else a new one.
 *
 * @param before - the lines left by an earlier run, if any
 */
export function credentialsKey({ CREDENTIALS_KEY }: { readonly CREDENTIALS_KEY?: string }, before: string): string {
  const [, known] = /^(?:export )?CREDENTIALS_KEY=(.+)$/m.exec(before) ?? [];
  return CREDENTIALS_KEY || known || randomBytes(keyBytes).toString('base64');
}

/** The credentials, and the key that seals portal credentials, as lines for a shell or an environment file. */
export function environmentLines({ baseUrl, clientId, clientSecret }: Credentials, key: string): string {
  const administrator = `MEDPLUM_CLIENT_ID=${clientId}\nMEDPLUM_CLIENT_SECRET=${clientSecret}`;
  return `MEDPLUM_BASE_URL=${baseUrl}\n${administrator}\nCREDENTIALS_KEY=${key}\n`;
}

interface Arguments {
  readonly baseUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly project: string;
  readonly owner?: string;
  readonly bookingsPerMinute?: number;
  readonly wait: number;
  readonly output?: string;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description('Creates a project for the service on a Medplum server, and the credentials to deploy it.')
    .option('--base-url <url>', 'address of the Medplum server (or MEDPLUM_BASE_URL)')
    .option('--client-id <id>', 'ClientApplication of a super administrator (or MEDPLUM_SUPER_ADMIN_CLIENT_ID)')
    .option('--client-secret <secret>', 'its secret (or MEDPLUM_SUPER_ADMIN_CLIENT_SECRET, which is safer)')
    .option('--project <name>', 'name of the project', 'Appointment booking')
    .option('--owner <email>', 'user who owns a new project and can log in to it in the app')
    .option('--bookings-per-minute <number>', 'raises the quota of the project to this many bookings', wholeNumber(1))
    .option('--wait <seconds>', 'how long to wait for the server to be up', wholeNumber(0), 0)
    .option('--output <file>', 'write the credentials to this file instead of printing them')
    .action(main);
}

async function main(given: Arguments): Promise<void> {
  const baseUrl = given.baseUrl ?? process.env.MEDPLUM_BASE_URL;
  const clientId = given.clientId ?? process.env.MEDPLUM_SUPER_ADMIN_CLIENT_ID;
  const clientSecret = given.clientSecret ?? process.env.MEDPLUM_SUPER_ADMIN_CLIENT_SECRET;
  if (!baseUrl || !clientId || !clientSecret) {
    throw new Error(
      'Name the server and your credentials: --base-url, --client-id and --client-secret, or MEDPLUM_BASE_URL, ' +
        'MEDPLUM_SUPER_ADMIN_CLIENT_ID and MEDPLUM_SUPER_ADMIN_CLIENT_SECRET in the environment.',
    );
  }
  await waitForServer(baseUrl, given.wait);
  const done = await bootstrap({ ...given, superAdministrator: { baseUrl, clientId, clientSecret } });
  const { output } = given;
  const before = output && existsSync(output) ? readFileSync(output, 'utf8') : '';
  const lines = environmentLines(done, credentialsKey(process.env, before));
  if (output) {
    writeSettings(output, lines.trimEnd().split('\n'));
    console.log(`Project/${done.projectId} (${given.project}) is ready; credentials are in ${output}.`);
  } else {
    console.log(lines.trimEnd());
  }
}
