import { pino } from 'pino';
import { buildGateway } from '../gateway/server.ts';
import { loadConfig } from './cli/load-config.ts';

/**
 * Runs the gateway alone. Environment: `MEDPLUM_BASE_URL` (required), `MEDPLUM_ALIASES` (further addresses of that
 * server, separated by commas), `PORT` (8080), `HOST` (0.0.0.0), `BOOKING_CONFIG`, `LOG_LEVEL` (info), `TRUST_PROXY`
 * (`true` behind a proxy). SIGTERM and SIGINT end it gracefully.
 */
async function main(): Promise<void> {
  const { env } = process;
  const medplumBaseUrl = env.MEDPLUM_BASE_URL;
  if (!medplumBaseUrl) {
    throw new Error('Set MEDPLUM_BASE_URL to the address of the Medplum server.');
  }
  const logger = pino({ level: env.LOG_LEVEL ?? 'info' });
  const gateway = buildGateway({
    config: loadConfig(),
    medplumBaseUrl,
    medplumAliases: env.MEDPLUM_ALIASES?.split(',') ?? [],
    logger,
    trustProxy: env.TRUST_PROXY === 'true',
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void gateway.close());
  }
  await gateway.listen({ port: Number(env.PORT ?? 8080), host: env.HOST ?? '0.0.0.0' });
}

await main();
