import { pino } from 'pino';
import type { TrustedProxies } from '../../gateway/admission/client-address.ts';
import { trustedProxies } from '../../gateway/admission/client-address.ts';
import type { SealingOptions } from '../../gateway/context.ts';
import type { GatewayLimits } from '../../gateway/limits.ts';
import type { MetricsAddress } from '../../gateway/operations/metrics.ts';
import { type CredentialKeys, parseCredentialKeys } from '../../gateway/sealing/credential-keys.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The limits that operators can set, by environment variable. */
export const limitVariables = {
  LIMIT_REQUESTS_PER_CLIENT: 'requestsPerMinute',
  LIMIT_REQUESTS_PER_ADDRESS: 'requestsPerMinuteAndAddress',
  LIMIT_ATTEMPTS_PER_ADDRESS: 'attemptsPerMinuteAndAddress',
  LIMIT_CONCURRENT_PER_CLIENT: 'concurrentRequests',
  LIMIT_CONNECTIONS_TO_MEDPLUM: 'connections',
  LIMIT_WEBSOCKETS: 'websockets',
  LIMIT_BODY_BYTES: 'bodyBytes',
} as const satisfies Record<string, keyof GatewayLimits>;

export const isAddress = (text: string): boolean => /^https?:/.test(text) && URL.canParse(text);

/**
 * Further addresses of Medplum, from `MEDPLUM_ALIASES`, separated by commas.
 *
 * @throws Error naming the invalid one
 */
export function aliasesFrom({ MEDPLUM_ALIASES: text = '' }: Environment): readonly string[] {
  const aliases = text.split(',').flatMap((one) => one.trim() || []);
  const wrong = aliases.find((one) => !isAddress(one));
  if (wrong !== undefined) {
    throw new Error(`MEDPLUM_ALIASES must list addresses such as https://medplum.example.org/, not '${wrong}'.`);
  }
  return aliases;
}

/**
 * The log level, from `LOG_LEVEL`.
 *
 * @throws Error that lists the allowed values
 */
export function logLevelFrom({ LOG_LEVEL: text }: Environment, usual: string): string {
  const levels = [...Object.values(pino.levels.labels), 'silent'];
  if (text && !levels.includes(text)) {
    throw new Error(`LOG_LEVEL must be one of ${levels.join(', ')}, not '${text}'.`);
  }
  return text || usual;
}

function positive(name: string, text: string, most: number = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new Error(`${name} must be a whole number from 1 to ${most}, not '${text}'.`);
  }
  return value;
}

/**
 * The limits in the environment. All others keep their defaults.
 *
 * @throws Error naming the variable that is not a number
 */
export function limitsFrom(environment: Environment): Partial<GatewayLimits> {
  const set = Object.entries(limitVariables).flatMap(([name, limit]) => {
    const text = environment[name];
    return text ? [[limit, positive(name, text)] as const] : [];
  });
  return Object.fromEntries(set);
}

/**
 * Maximum number of tool calls of an assistant in a minute, from `LIMIT_TOOL_CALLS_PER_CLIENT`.
 *
 * @throws Error if it is not a number
 */
export const toolCallsFrom = ({ LIMIT_TOOL_CALLS_PER_CLIENT: text }: Environment): number | undefined =>
  text ? positive('LIMIT_TOOL_CALLS_PER_CLIENT', text) : undefined;

/**
 * The trusted proxies, from `TRUST_PROXY`: the number in front of the gateway, or their networks, separated by commas.
 * `true` is one proxy, `false` or nothing is none.
 *
 * @throws Error that lists the allowed values
 */
export function proxiesFrom({ TRUST_PROXY: text = '' }: Environment): TrustedProxies {
  const words: Readonly<Record<string, number>> = { '': 0, false: 0, true: 1 };
  const said = Object.hasOwn(words, text) ? words[text] : undefined;
  if (said !== undefined) {
    return said;
  }
  if (/^\d{1,2}$/.test(text)) {
    return Number(text);
  }
  const networks = text.split(',').map((network) => network.trim());
  try {
    trustedProxies(networks);
  } catch {
    throw new Error(`TRUST_PROXY must be a number of proxies, or their networks such as 10.0.0.0/8, not '${text}'.`);
  }
  return networks;
}

/** The address of the metrics, from `METRICS_PORT` and `METRICS_HOST` (127.0.0.1); none without a port. */
export function metricsFrom({ METRICS_PORT: port, METRICS_HOST: host }: Environment): MetricsAddress | undefined {
  return port ? { port: positive('METRICS_PORT', port, 65_535), host: host || '127.0.0.1' } : undefined;
}

/**
 * Whether accesses are recorded, from `AUDIT`: `log` or `none`, the default.
 *
 * @throws Error that lists the allowed values
 */
export function auditFrom({ AUDIT: text = '' }: Environment): boolean {
  if (!['', 'none', 'log'].includes(text)) {
    throw new Error(`AUDIT must be log or none, not '${text}'.`);
  }
  return text === 'log';
}

/**
 * The keys that seal the credentials of portals, from `CREDENTIALS_KEY`. The gateways and the commands that issue
 * secrets use the same keys.
 *
 * @throws Error saying how to make one
 */
export function credentialKeysFrom({ CREDENTIALS_KEY: text }: Environment): CredentialKeys | undefined {
  try {
    return text ? parseCredentialKeys(text) : undefined;
  } catch (error) {
    throw new Error(`CREDENTIALS_KEY cannot be used. ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * The sealing of portals' credentials, from `CREDENTIALS_KEY`.
 *
 * @throws Error saying how to make a key
 */
export function sealingFrom(environment: Environment): SealingOptions {
  const keys = credentialKeysFrom(environment);
  if (!keys) {
    throw new Error(
      'Set CREDENTIALS_KEY to the key that credentials of portals are sealed with, the same for all gateways and where ' +
        '"npm run requestor" runs: create it with "openssl rand -base64 32". See docs/operators.md, Sealed credentials.',
    );
  }
  return { keys, unsealed: 'refused' };
}

/** Whether a text is an origin as browsers write it: scheme, host and, if it is not the default, port. */
const isOrigin = (text: string): boolean => isAddress(text) && new URL(text).origin === text;

/**
 * The origins whose scripts may call the interface from a browser, from `CORS_ORIGINS`, separated by commas.
 *
 * @throws Error naming the invalid one
 */
export function corsOriginsFrom({ CORS_ORIGINS: text = '' }: Environment): readonly string[] {
  const origins = text.split(',').flatMap((one) => one.trim() || []);
  const wrong = origins.find((one) => !isOrigin(one));
  if (wrong !== undefined) {
    throw new Error(
      `CORS_ORIGINS must list origins such as https://portal.example.org, without a path, not '${wrong}'.`,
    );
  }
  return origins;
}
