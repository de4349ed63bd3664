import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../core/fhir/resource.ts';

const FILE = 'credentials.key';

function stored(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isObject(error) && error.code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/**
 * The key that seals the credentials of portals, in base64. It is kept in the data folder of the embedded Medplum, so
 * that credentials last as long as their clients. A missing key is created.
 *
 * @param dataFolder - without it the key is not kept
 */
export function keyOf(dataFolder: string | undefined): string {
  const file = dataFolder === undefined ? undefined : join(dataFolder, FILE);
  const known = file === undefined ? undefined : stored(file);
  if (known !== undefined) {
    return known;
  }
  const key = randomBytes(32).toString('base64');
  if (dataFolder !== undefined && file !== undefined) {
    mkdirSync(dataFolder, { recursive: true });
    // An incomplete key would be worse than none.
    writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return key;
}
