import { jest } from '@jest/globals';
import { atEnd } from '../lib/at-end.ts';
import { type Installation, prepareService } from '../lib/installation.ts';
import * as services from '../lib/service.ts';
import { scaled } from '../lib/time-scale.ts';

// These tests kill, restart and wait for leases to end: half a minute of a quick machine.
jest.setTimeout(scaled(120_000));

/** A program of the project, as `serviceOf` makes it; it ends with the tests of this file. */
export function serviceOf(...parameters: Parameters<typeof services.serviceOf>): services.Service {
  const service = services.serviceOf(...parameters);
  atEnd(service.end);
  return service;
}

/**
 * Prepares an installation that keeps its data, and tells the fixtures of the contract tests where it is: they are to
 * be imported afterwards. It ends with the tests of this file.
 *
 * @param environment - further settings of the process
 * @param changes - to the configuration
 */
export async function prepareInstallation(
  environment: Readonly<Record<string, string>> = {},
  changes: object = {},
): Promise<Installation> {
  const before = { ...process.env };
  atEnd(() => {
    process.env = before;
  });
  const installation = await prepareService({ LOG_LEVEL: 'silent', ...environment }, changes);
  atEnd(installation.end);
  Object.assign(process.env, installation.addresses);
  return installation;
}
