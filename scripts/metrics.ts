import type { Command } from 'commander';
import { serveMetrics } from '../gateway/operations/metrics.ts';
import { type CredentialArguments, open, withCredentials } from './cli/credentials.ts';
import { readWaiting } from './metrics/read.ts';
import { waitingMetrics } from './metrics/registry.ts';
import { portOf } from './start/settings.ts';

interface Arguments extends CredentialArguments {
  readonly port?: string;
  readonly host: string;
  readonly once?: boolean;
}

/** The command line: metrics of the queues of an installation. */
export function define(command: Command): void {
  withCredentials(command)
    .description(
      'Serves the number and age of waiting work in an installation as metrics for Prometheus. It changes nothing.',
    )
    .option('--port <number>', 'where /metrics is served (or METRICS_PORT; default: 9465)')
    .option('--host <address>', 'the address that it listens on', '127.0.0.1')
    .option('--once', 'print the metrics and exit')
    .action(main);
}

async function main(given: Arguments): Promise<void> {
  const { medplum, config } = await open(given);
  const registry = waitingMetrics(() => readWaiting(medplum, config, Date.now()));
  if (given.once) {
    process.stdout.write(await registry.metrics());
    return;
  }
  const port = portOf('METRICS_PORT', given.port ?? process.env.METRICS_PORT, 9465);
  const server = await serveMetrics(registry, { port, host: given.host });
  console.log(`Metrics are at http://${given.host}:${port}/metrics`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void server.close());
  }
}
