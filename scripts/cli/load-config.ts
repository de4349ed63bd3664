import { readFileSync } from 'node:fs';
import type { BookingConfig } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `The configuration ${path} cannot be read (${reasonOf(error)}). Name the file by --config or BOOKING_CONFIG, or ` +
        'start in the folder that has booking.config.json.',
      { cause: error },
    );
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The configuration ${path} is not JSON: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Where the configuration is: `BOOKING_CONFIG` in the environment, else `booking.config.json` in the working folder. */
export const configPath = (): string => process.env.BOOKING_CONFIG ?? 'booking.config.json';

/**
 * Reads the configuration of an installation.
 *
 * @param path - of the file
 * @throws Error that names the file and says what is wrong with it
 */
export function loadConfig(path = configPath()): BookingConfig {
  const input = parse(path, read(path));
  try {
    return resolveConfig(input);
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error)}\nEvery field is explained in docs/configuration.md.`, {
      cause: error,
    });
  }
}
