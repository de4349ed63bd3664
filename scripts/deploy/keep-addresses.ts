import type { NamingSystem } from '@medplum/fhirtypes';
import { artefactName, artefactUri, type BookingConfig } from '../../core/config/config.ts';
import type { Connection } from '../medplum/connect.ts';

/** The base address of a project's own artefacts, taken from one of them; undefined if there is none yet. */
async function storedBase({ medplum }: Connection, config: BookingConfig): Promise<string | undefined> {
  const name = artefactName(config, 'LocalBot');
  const stored = await medplum.searchOne('NamingSystem', { 'name:exact': name });
  return stored && baseOf(stored, `/NamingSystem/${name}`);
}

function baseOf({ uniqueId }: NamingSystem, path: string): string | undefined {
  const uri = uniqueId.map(({ value }) => value).find((value) => value.endsWith(path));
  return uri?.slice(0, -path.length);
}

/**
 * Refuses to deploy below a base address other than before: requestors would no longer find what they have stored, since the
 * tag that says whose it is would have another address.
 *
 * @throws Error that names the setting which keeps the addresses
 */
export async function assertSameAddresses(connection: Connection, config: BookingConfig): Promise<void> {
  const base = await storedBase(connection, config);
  if (
    base !== undefined &&
    artefactUri(config, 'LocalBot') !== `${base}/NamingSystem/${artefactName(config, 'LocalBot')}`
  ) {
    throw new Error(
      `This project has the service's artefacts below ${base}; the configuration would move them to ${config.localBase}. ` +
        `Nothing was deployed, because stored data refers to the old addresses. Set "localBase": "${base}" to keep them.`,
    );
  }
}
