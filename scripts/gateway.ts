import type { Command } from 'commander';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import { serveMetrics } from '../gateway/operations/metrics.ts';
import { buildGateway } from '../gateway/server.ts';
import { runAsProgram } from './cli/command.ts';
import { loadConfig } from './cli/load-config.ts';
import { gatewayCredentialsFrom, hostBots } from './gateway/hosted-bots.ts';
import { frontDeskFrom, pagesFor, portalFrom } from './gateway/pages.ts';
import {
  aliasesFrom,
  auditFrom,
  corsOriginsFrom,
  isAddress,
  limitsFrom,
  logLevelFrom,
  metricsFrom,
  proxiesFrom,
  sealingFrom,
  toolCallsFrom,
} from './gateway/settings.ts';
import { portOf } from './start/settings.ts';

/** Maximum time until Medplum reports that it is healthy, in milliseconds. */
const HEALTH_LIMIT = 5_000;

function medplumUrl(address: string | undefined): string {
  if (!address || !isAddress(address)) {
    throw new Error(
      `Set MEDPLUM_BASE_URL to the address of the Medplum server, for example https://medplum.example.org/${address ? `; ${address} is not an http address` : ''}.`,
    );
  }
  return address;
}

/** A gateway may start before its Medplum: it logs a warning and continues. */
async function warnIfUnreachable(baseUrl: string, logger: Logger): Promise<void> {
  const url = new URL('healthcheck', baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  const problem = await fetch(url, { signal: AbortSignal.timeout(HEALTH_LIMIT) }).then(
    ({ ok, status }) => (ok ? undefined : `status ${status}`),
    (error: unknown) => String(error instanceof Error ? (error.cause ?? error.message) : error),
  );
  if (problem) {
    logger.warn(
      `No Medplum server answers at ${url} (${problem}): check MEDPLUM_BASE_URL and that the server runs. Until then ` +
        'requests are answered with 503.',
    );
  }
}

/**
 * Runs the gateway alone. Environment: `MEDPLUM_BASE_URL` (required), `MEDPLUM_ALIASES` (further addresses of that
 * server, separated by commas), `PORT` (8080), `HOST` (0.0.0.0), `BOOKING_CONFIG`, `LOG_LEVEL` (info), `TRUST_PROXY`,
 * `METRICS_PORT`, `METRICS_HOST`, `CREDENTIALS_KEY`, `CORS_ORIGINS`, `BOTS_CLIENT_ID` and `BOTS_CLIENT_SECRET`, the
 * variables of the portal (`PORTAL_CLIENT_ID` …) and the front desk (`DESK_CLIENT_ID` …), and the limits of
 * `limitVariables`: see docs/operators.md. SIGTERM and SIGINT end it gracefully.
 */
async function main(): Promise<void> {
  const { env } = process;
  const medplumBaseUrl = medplumUrl(env.MEDPLUM_BASE_URL);
  const port = portOf('PORT', env.PORT, 8080);
  const logger = pino({ level: logLevelFrom(env, 'info') });
  const metrics = new Registry();
  const metricsAddress = metricsFrom(env);
  const config = loadConfig();
  const sealing = sealingFrom(env);
  const pages = {
    assistants: { keys: sealing.keys, callsPerMinute: toolCallsFrom(env) },
    portal: portalFrom(env),
    frontDesk: frontDeskFrom(env, medplumBaseUrl),
  };
  const credentials = gatewayCredentialsFrom(env, config);
  const gateway = buildGateway({
    config,
    medplumBaseUrl,
    medplumAliases: aliasesFrom(env),
    logger,
    trustProxy: proxiesFrom(env),
    limits: limitsFrom(env),
    sealing,
    metrics,
    audit: auditFrom(env),
    corsOrigins: corsOriginsFrom(env),
    bots: credentials && (await hostBots(config, medplumBaseUrl, credentials)),
    web: pagesFor(config, pages),
  });
  const metricsServer = metricsAddress && (await serveMetrics(metrics, metricsAddress));
  gateway.addHook('onClose', async () => metricsServer?.close());
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void gateway.close());
  }
  try {
    await gateway.listen({ port, host: env.HOST || '0.0.0.0' });
  } catch (error) {
    await gateway.close();
    throw error;
  }
  await warnIfUnreachable(medplumBaseUrl, logger);
}

/** The command line. The image contains only the files of the gateway and runs this one. */
export function define(command: Command): void {
  command.description('Runs the gateway alone, as the environment says (docs/operators.md).').action(main);
}

await runAsProgram(import.meta.url, main);
