/** Jest's global set-up: starts embedded installations for the tests, unless the environment names another one. */
import type { Config } from '@jest/types';
import { type Installation, prepareService } from '../lib/installation.ts';

declare global {
  var installations: readonly Installation[];
}

/** So little that reaching a limit takes no minutes, and more than the tests have beside one another. */
const changes = { notifications: { maxSubscriptions: 30 }, holds: { maxPerRequestor: 5 } };

/**
 * A minute of Medplum's clock lasts so many seconds: each wakes all Bots that look after what was missed, and they look at
 * all that the tests have done in the last minutes.
 */
const MINUTE = 15;

/** An installation is one process, which the tests keep busy: one for every second of those that run them. */
const countFor = ({ maxWorkers, nonFlagArgs: paths }: Config.GlobalConfig): number =>
  paths.length > 0 && paths.length < 4 ? 1 : Math.ceil(maxWorkers / 2);

export default async function start(config: Config.GlobalConfig): Promise<void> {
  globalThis.installations = [];
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  const settings = { LOG_LEVEL: 'warn', SANDBOX_DATA: '', SANDBOX_DELAY_SCALE: String(MINUTE / 60) };
  const prepare = () => prepareService(settings, changes);
  globalThis.installations = await Promise.all(Array.from({ length: countFor(config) }, prepare));
  await Promise.all(installations.map((installation) => installation.start()));
  process.env.TEST_INSTALLATIONS = JSON.stringify(installations.map(({ addresses }) => addresses));
}
