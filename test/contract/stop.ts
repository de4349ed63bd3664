/** Jest's global tear-down: ends the embedded installation and waits until it is gone. */
import { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export default async function stop(): Promise<void> {
  const service: unknown = Reflect.get(globalThis, 'service');
  if (service instanceof ChildProcess && service.exitCode === null) {
    service.kill('SIGTERM');
    await once(service, 'exit');
  }
}
