import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core';
import { sealedTokens } from '../../scripts/demo/sealed-tokens.ts';
import type { start } from '../../scripts/start.ts';
import { freePort } from '../lib/free-port.ts';

/** How long the gateway waits for Bots on a busy machine, in seconds. */
const PATIENCE = 120;

/**
 * Bots run in contexts of their own: lets them see which mutant is active.
 *
 * @param context - says which one it is
 */
export function shareWithBots(context: object): void {
  const { runInNewContext } = vm.Script.prototype;
  vm.Script.prototype.runInNewContext = function (globals, options) {
    return runInNewContext.call(
      this,
      Object.assign(globals ?? {}, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: context }),
      options,
    );
  };
}

/**
 * Starts an installation in this process, from the sources in the working folder, and names it to the contract tests.
 */
export async function startInstallation(): Promise<void> {
  process.env.LOG_LEVEL ??= 'silent';
  const [gateway, medplum] = [await freePort(), await freePort()];
  const source = async (file: string) => import(pathToFileURL(resolve(file)).href);
  const { loadConfig } = await source('scripts/cli/load-config.ts');
  const service: { start: typeof start } = await source('scripts/start.ts');
  const { parseCredentialKeys }: typeof import('../../gateway/sealing/credential-keys.ts') = await source(
    'gateway/sealing/credential-keys.ts',
  );
  const key = randomBytes(32).toString('base64');
  await service.start({
    keys: parseCredentialKeys(key),
    config: { ...loadConfig(), timeout: PATIENCE },
    ports: { gateway, medplum },
    medplum: { delayScale: 0.05 },
    log: () => undefined,
  });
  Object.assign(process.env, {
    BOOKING_BASE_URL: `http://localhost:${gateway}/fhir/R4`,
    MEDPLUM_BASE_URL: `http://localhost:${medplum}/`,
    ...(await sealedTokens(`http://localhost:${gateway}/fhir/R4`, key)),
    FRONT_DESK_TOKEN: 'front-desk',
    ADMIN_TOKEN: 'admin',
  });
}
