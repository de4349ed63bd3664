/** Jest's global tear-down: ends the embedded installation, if it was started for the tests. */
import './start.ts';

export default async function stop(): Promise<void> {
  const { installation } = globalThis;
  await installation?.stop().finally(installation.end);
}
