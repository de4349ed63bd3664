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
  let told: WorkerData | undefined;
  process.on('message', (message: WorkerData | undefined) => {
    told = message?.type === 'jest-light-runner-worker-data' ? message : told;
  });
  process.send = (message: unknown, ...rest: unknown[]) => {
    if (message === ASKS && told) {
      setImmediate(() => process.emit('message', told, undefined));
    }
    return Reflect.apply(send, process, [message, ...rest]);
  };
}
