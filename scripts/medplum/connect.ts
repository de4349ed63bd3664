import { ClientStorage, MedplumClient, MemoryStorage } from '@medplum/core';
import { z } from 'zod';
import { withSlash } from './http.ts';
import { projectFeatures } from './project-features.ts';
import { fetchWithinRateLimit } from './rate-limit-retry.ts';
import { isTooOld, tooOld, versionIn } from './version.ts';

/** Address of a Medplum server, and the client credentials of an administrator of one of its projects. */
export interface Credentials {
  /** Base address of the server, for example `http://localhost:8103/`. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A connection to one project of a Medplum server. */
export interface Connection {
  readonly medplum: MedplumClient;
  readonly projectId: string;
}

const neededFeatures = ['bots', 'transaction-bundles'] as const;

const meSchema = z.object({
  project: z.object({
    id: z.string(),
    name: z.string().optional(),
    features: z.array(z.string()).optional(),
    superAdmin: z.boolean().optional(),
  }),
  membership: z.object({ admin: z.boolean().optional() }),
});

/** The response of `auth/me`: Medplum's data about the holder of a token. */
export type Me = z.infer<typeof meSchema>;

function problemsOf({ project, membership }: Me): string[] {
  const label = `${project.name ?? ''} (Project/${project.id})`.trim();
  // Medplum omits the features if there are none, and if the caller may not see them.
  const { features = membership.admin ? [] : neededFeatures } = project;
  const missing = neededFeatures.filter((feature) => !features.includes(feature));
  return [
    ...(membership.admin
      ? []
      : [
          `These credentials do not belong to an administrator of the project ${label}. Set admin to true on the ` +
            'ProjectMembership of this ClientApplication, or use another one.',
        ]),
    ...missing.map(
      (feature) =>
        `The project ${label} lacks the feature ${feature}: ${projectFeatures[feature]}. A super administrator of the ` +
        'server adds it to Project.features.',
    ),
  ];
}

/**
 * Checks that a project can run the service and that the caller may set it up.
 *
 * @throws Error with a sentence for each missing requirement, and its remedy
 */
export function requireSuitable(me: Me): void {
  const problems = problemsOf(me);
  if (problems.length > 0) {
    throw new Error(problems.join('\n'));
  }
}

function explain(error: unknown, { baseUrl }: Credentials): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const isUnreachable = /fetch failed|ECONNREFUSED|ENOTFOUND|EAI_AGAIN/i.test(reason);
  return new Error(
    isUnreachable
      ? `No Medplum server answers at ${baseUrl}. Check --base-url (MEDPLUM_BASE_URL) and that the server runs.`
      : `Logging in at ${baseUrl} failed: ${reason}. Check --client-id and --client-secret, or their variables.`,
    { cause: error },
  );
}

async function requireVersion(medplum: MedplumClient): Promise<void> {
  const version = versionIn(await medplum.get('healthcheck').catch(() => undefined));
  if (isTooOld(version)) {
    throw new Error(tooOld(version));
  }
}

export const clientAt = (baseUrl: string): MedplumClient =>
  new MedplumClient({
    baseUrl: withSlash(baseUrl),
    cacheTime: 0,
    maxRetries: 0,
    fetch: fetchWithinRateLimit,
    storage: new ClientStorage(new MemoryStorage()),
  });

/**
 * Logs in with client credentials.
 *
 * @returns the client, and Medplum's data about its holder
 * @throws Error that says what to do when the server cannot be reached or the credentials are refused
 */
export async function logIn(credentials: Credentials): Promise<{ medplum: MedplumClient; me: Me }> {
  const { baseUrl, clientId, clientSecret } = credentials;
  const medplum = clientAt(baseUrl);
  try {
    await medplum.startClientLogin(clientId, clientSecret);
  } catch (error) {
    throw explain(error, credentials);
  }
  return { medplum, me: meSchema.parse(await medplum.get('auth/me')) };
}

/**
 * Logs in with client credentials and checks that the project can run the service.
 *
 * @throws Error that says what to do when the server cannot be reached, the credentials are refused or belong to no
 *   administrator, the server is too old, or the project lacks a feature
 */
export async function connect(credentials: Credentials): Promise<Connection> {
  const { medplum, me } = await logIn(credentials);
  await requireVersion(medplum);
  requireSuitable(me);
  return { medplum, projectId: me.project.id };
}
