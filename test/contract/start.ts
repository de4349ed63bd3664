/** Jest's global set-up: starts embedded installations for the tests, unless the environment names another one. */
import type { Config } from '@jest/types';
import { type Installation, prepareService } from '../lib/installation.ts';

declare global {
  var installations: readonly Installation[];
}

/** So little that reaching a limit takes no minutes, and more than the tests have beside one another. */
const changes = { notifications: { maxSubscriptions: 30 }, holds: { maxPerRequestor: 5 } };

/** An installation is one process, which the tests keep busy: one for every second of those that run them. */
const countFor = ({ maxWorkers, nonFlagArgs: paths }: Config.GlobalConfig): number =>
  paths.length > 0 && paths.length < 4 ? 1 : Math.ceil(maxWorkers / 2);

export default async function start(config: Config.GlobalConfig): Promise<void> {
  globalThis.installations = [];
  if (process.env.BOOKING_BASE_URL) {
    return;
  }
  const prepare = () => prepareService({ LOG_LEVEL: 'warn', SANDBOX_DATA: '' }, changes);
  globalThis.installations = await Promise.all(Array.from({ length: countFor(config) }, prepare));
  await Promise.all(installations.map((one) => one.start()));
  process.env.TEST_INSTALLATIONS = JSON.stringify(installations.map(({ addresses }) => addresses));
}
