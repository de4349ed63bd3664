import type { BookingConfig } from '../../core/config/config.ts';

declare global {
  var __BOOKING_CONFIG__: BookingConfig | undefined;
}

/**
 * Puts a configuration where Bots that run from their sources look for it; the bundler puts it into those that are
 * deployed. A process that has loaded a Bot before has its configuration in the same object.
 */
export function giveToBots(config: BookingConfig): BookingConfig {
  const given = globalThis.__BOOKING_CONFIG__;
  if (!given) {
    globalThis.__BOOKING_CONFIG__ = config;
    return config;
  }
  for (const name of Object.keys(given)) {
    Reflect.deleteProperty(given, name);
  }
  return Object.assign(given, config);
}
