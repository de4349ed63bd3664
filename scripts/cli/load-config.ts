import { readFileSync } from 'node:fs';
import type { BookingConfig } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';

/**
 * Reads the configuration of an installation.
 *
 * @param path - of the file; default: `BOOKING_CONFIG` in the environment, else `booking.config.json` in the working folder
 * @throws Error that says what is wrong with the file
 */
export function loadConfig(path = process.env.BOOKING_CONFIG ?? 'booking.config.json'): BookingConfig {
  return resolveConfig(JSON.parse(readFileSync(path, 'utf8')));
}
