import type { BookingConfig } from '../../config/config.ts';

/** The ports of the gateway and of the embedded Medplum. */
export interface Ports {
  readonly gateway: number;
  readonly medplum: number;
}

const defaults: Ports = { gateway: 8080, medplum: 8103 };

function portOf(name: string, value: string | undefined, fallback: number): number {
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

/** The configuration for a gateway on another port: the address on localhost follows, any other address stays. */
export function forPort(config: BookingConfig, port: number): BookingConfig {
  const local = `http://localhost:${defaults.gateway}/`;
  return config.baseUrl.startsWith(local)
    ? { ...config, baseUrl: `http://localhost:${port}/${config.baseUrl.slice(local.length)}` }
    : config;
}
