import { randomUUID } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Credentials, Me } from '../medplum/connect.ts';
import type { Request } from '../medplum/http.ts';

/** How grave a finding is: errors lose bookings or answers, warnings cost something or may do so. */
export type Level = 'ok' | 'warning' | 'error';

/** What was found, and the command or setting that helps. */
export interface DoctorResult {
  readonly level: Level;
  readonly found: string;
  readonly help?: string;
}

/** A line of the report. */
export interface Row extends DoctorResult {
  readonly check: string;
}

/** The installation that is examined, and what is expected of it. */
export interface Installation {
  readonly config: BookingConfig;
  readonly credentials: Credentials;
  readonly medplum: MedplumClient;
  readonly me: Me;
  /** Calls Medplum without reading more into the answer than status, headers and text. */
  readonly request: Request;
  /** The same without a token. */
  readonly requestAnonymously: Request;
  /** Bookings per minute that the installation must be able to carry. */
  readonly bookingsPerMinute: number;
  /** Address at which the gateway is reached from here. */
  readonly gatewayUrl?: string | undefined;
  /** The lines of a dry run of the deployment, made once. */
  readonly dryRun: () => Promise<readonly string[]>;
}

/** One thing that is examined: a name, and how its line of the report comes about. */
export interface Check {
  readonly name: string;
  readonly run: (installation: Installation) => Promise<DoctorResult>;
}

/**
 * A check in two parts: it reads data from the installation, then assesses it.
 *
 * @param read - reads from the server; an exception becomes an error in the report
 * @param assess - pure
 */
export function check<T>(
  name: string,
  read: (installation: Installation) => Promise<T>,
  assess: (found: T, installation: Pick<Installation, 'bookingsPerMinute' | 'config'>) => DoctorResult,
): Check {
  return { name, run: async (installation) => assess(await read(installation), installation) };
}

/** The first few of some findings that a command lists as a whole, and the number of the others. */
export const named = (texts: readonly string[]): string =>
  [...texts.slice(0, 3), ...(texts.length > 3 ? [`and ${texts.length - 3} more`] : [])].join('; ');

/** Everything is as it should be. */
export const ok = (found: string): DoctorResult => ({ level: 'ok', found });

/** Works, at a price. */
export const warning = (found: string, help: string): DoctorResult => ({ level: 'warning', found, help });

/** Does not work. */
export const error = (found: string, help: string): DoctorResult => ({ level: 'error', found, help });

/** The answer to a transaction that must fail. */
interface Attempt {
  readonly status: number;
  readonly text: string;
}

/**
 * Tries to create a resource in a transaction that must fail, because its other entry reads something that does not exist.
 * Where transactions are atomic nothing is left, whether or not the resource itself was acceptable.
 */
export async function validateWithoutEffect(
  { request }: Pick<Installation, 'request'>,
  resource: Resource,
): Promise<Attempt> {
  const bundle: Bundle = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { request: { method: 'POST', url: resource.resourceType }, resource },
      { request: { method: 'GET', url: `Basic/${randomUUID()}` } },
    ],
  };
  return request('fhir/R4', JSON.stringify(bundle));
}
