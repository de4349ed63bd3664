import { z } from 'zod';

const OLDEST_VERSION = '5.1';

const healthSchema = z.object({ version: z.string() });

/** The version in the response of Medplum's `healthcheck`; `undefined` if there is none. */
export function versionIn(health: unknown): string | undefined {
  return healthSchema.safeParse(health).data?.version;
}

const numbersIn = (version: string): number[] => (/^(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);

/** Whether a version is known to be too old for the service. */
export function isTooOld(version: string | undefined): boolean {
  const [major, minor = 0] = numbersIn(version ?? '');
  const [oldestMajor = 0, oldestMinor = 0] = numbersIn(OLDEST_VERSION);
  return major !== undefined && (major < oldestMajor || (major === oldestMajor && minor < oldestMinor));
}

/** The error message for a server that is too old. */
export const tooOld = (version: string | undefined): string =>
  `The server runs Medplum ${version}; the service needs ${OLDEST_VERSION} or later: upgrade Medplum first.`;
