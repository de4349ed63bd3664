/** Jest's global tear-down: ends the embedded installations, if they were started for the tests. */
import './start.ts';

export default async function stop(): Promise<void> {
  await Promise.all(installations.map((installation) => installation.stop().finally(installation.end)));
}
