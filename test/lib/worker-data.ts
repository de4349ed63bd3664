/**
 * What each process that Jest starts loads before anything else: keeps what jest-light-runner sends it. The runner tells all
 * processes that are starting what to run as soon as the first of them asks; one that does not listen yet would ask later,
 * get no answer, and wait for ever.
 */
interface WorkerData {
  readonly type?: unknown;
}

const ASKS = 'jest-light-runner-get-worker-data';
const { send } = process;

if (send) {
  let notified: WorkerData | undefined;
  process.on('message', (message: WorkerData | undefined) => {
    notified = message?.type === 'jest-light-runner-worker-data' ? message : notified;
  });
  process.send = (message: unknown, ...rest: unknown[]) => {
    if (message === ASKS && notified) {
      setImmediate(() => process.emit('message', notified, undefined));
    }
    return Reflect.apply(send, process, [message, ...rest]);
  };
}
