import { readFileSync } from 'node:fs';
import type { BookingConfig } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `The configuration ${path} cannot be read (${reasonOf(error)}). Name the file with --config or BOOKING_CONFIG, or ` +
        'start in the folder that has booking.config.json.',
      { cause: error },
    );
  }
}

/** Path of the configuration: `BOOKING_CONFIG` in the environment, else `booking.config.json` in the working folder. */
export const configPath = (): string => process.env.BOOKING_CONFIG || 'booking.config.json';

/**
 * Reads the settings of an installation unchanged.
 *
 * @throws Error that names the file if it cannot be read or is not JSON
 */
export function loadSettings(path = configPath()): unknown {
  const text = read(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The configuration ${path} is not JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

/**
 * Reads the configuration of an installation.
 *
 * @throws Error that names the file and says what is wrong with it
 */
export function loadConfig(path = configPath()): BookingConfig {
  const input = loadSettings(path);
  try {
    return resolveConfig(input);
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error)}\nEvery field is explained in docs/configuration.md.`, {
      cause: error,
    });
  }
}
