/** Jest's global tear-down: ends the embedded installation, if it was started for the tests, and waits until it is gone. */
import { setTimeout } from 'node:timers/promises';

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export default async function stop(): Promise<void> {
  const pid = Number(process.env.SERVICE_PID ?? 0);
  if (pid > 0) {
    process.kill(pid, 'SIGTERM');
    for (let waited = 0; isRunning(pid) && waited < 10_000; waited += 20) {
      await setTimeout(20);
    }
  }
}
