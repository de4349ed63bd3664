import type { SandboxOptions } from '@appointment-booking/sandbox';
import type { BookingConfig } from '../../core/config/config.ts';
import type { UnsealedPolicy } from '../../gateway/sealing/access-tokens.ts';

/** The ports of the gateway and of the embedded Medplum. */
export interface Ports {
  readonly gateway: number;
  readonly medplum: number;
}

const defaults: Ports = { gateway: 8080, medplum: 8103 };

/**
 * Reads a port from the environment.
 *
 * @throws Error naming the variable if it is not a port
 */
export function portOf(name: string, value: string | undefined, fallback: number): number {
  if (value === undefined || value === '') {
    return fallback;
  }
  const port = Number(value);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`${name} must be a port, 1 to 65535, not ${value}.`);
  }
  return port;
}

/**
 * Reads the ports from the environment: `PORT` (default 8080) and `MEDPLUM_PORT` (default 8103).
 *
 * @throws Error naming the variable that is not a port
 */
export function portsFrom(environment: Readonly<Record<string, string | undefined>>): Ports {
  return {
    gateway: portOf('PORT', environment.PORT, defaults.gateway),
    medplum: portOf('MEDPLUM_PORT', environment.MEDPLUM_PORT, defaults.medplum),
  };
}

/** The configuration for a gateway on this machine. Its address replaces the configured one. */
export const forPort = (config: BookingConfig, port: number): BookingConfig => ({
  ...config,
  baseUrl: `http://localhost:${port}${new URL(config.baseUrl).pathname}`,
});

/**
 * Reads options of the embedded Medplum: `SANDBOX_DATA`, the folder of its data; `SANDBOX_BOT_BASE_URL`, the address at
 * which Bots reach it; `SANDBOX_DELAY_SCALE`, the factor for the minutes of its cron and the delays of its queue.
 *
 * @throws Error if the scale is not a positive number
 */
export function sandboxOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): Pick<SandboxOptions, 'dataFolder' | 'botBaseUrl' | 'delayScale'> {
  const { SANDBOX_DATA, SANDBOX_BOT_BASE_URL, SANDBOX_DELAY_SCALE } = environment;
  const delayScale = Number(SANDBOX_DELAY_SCALE || 1);
  if (!(delayScale > 0)) {
    throw new Error(`SANDBOX_DELAY_SCALE must be a positive number, not ${SANDBOX_DELAY_SCALE}.`);
  }
  return {
    delayScale,
    ...(SANDBOX_DATA && { dataFolder: SANDBOX_DATA }),
    ...(SANDBOX_BOT_BASE_URL && { botBaseUrl: SANDBOX_BOT_BASE_URL }),
  };
}

/** Loopback addresses, where a developer receives notifications. */
const loopback = ['127.0.0.0/8', '::1/128'];

/**
 * The configuration for a trial on one machine. Notifications may go to this machine, also without TLS, and a failed
 * one is repeated after a second.
 */
export function forOneMachine(config: BookingConfig): BookingConfig {
  const { notifications } = config;
  const allowedNetworks = [...new Set([...notifications.allowedNetworks, ...loopback])];
  return { ...config, notifications: { ...notifications, allowedNetworks, retryAfter: 1 } };
}

/**
 * Policy for unsealed portal credentials, from `PORTAL_CREDENTIALS`. `both` is the default on one machine, so that the
 * fixed tokens of the embedded Medplum work. `sealed` is the setting of a clinic.
 *
 * @throws Error that lists the allowed values
 */
export function unsealedFrom({
  PORTAL_CREDENTIALS: text,
}: Readonly<Record<string, string | undefined>>): UnsealedPolicy {
  if (text && text !== 'sealed' && text !== 'both') {
    throw new Error(`PORTAL_CREDENTIALS must be sealed or both here, not '${text}'.`);
  }
  return text === 'sealed' ? 'refused' : 'accepted';
}
