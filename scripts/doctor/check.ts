import { randomUUID } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Credentials, Me } from '../medplum/connect.ts';
import type { Request } from '../medplum/http.ts';

/** Severity of a finding. An error loses bookings or responses, a warning costs something or may do so. */
export type Level = 'ok' | 'warning' | 'error';

/** A finding, and the command or setting that helps. */
export interface DoctorResult {
  readonly level: Level;
  readonly found: string;
  readonly help?: string;
}

/** A line of the report. */
export interface Row extends DoctorResult {
  readonly check: string;
}

/** The examined installation, and the requirements on it. */
export interface Installation {
  readonly config: BookingConfig;
  readonly credentials: Credentials;
  readonly medplum: MedplumClient;
  readonly me: Me;
  /** Calls Medplum. Only status, headers and text of the response are read. */
  readonly request: Request;
  /** The same without a token. */
  readonly requestAnonymously: Request;
  readonly bookingsPerMinute: number;
  readonly gatewayUrl?: string | undefined;
  /** The report of a dry run of the deployment, which runs once. */
  readonly dryRun: () => Promise<readonly string[]>;
}

/** One check: a name, and the function that makes its line of the report. */
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

/** The first few findings, and the number of the others. Another command lists them all. */
export const named = (texts: readonly string[]): string =>
  [...texts.slice(0, 3), ...(texts.length > 3 ? [`and ${texts.length - 3} more`] : [])].join('; ');

export const ok = (found: string): DoctorResult => ({ level: 'ok', found });

export const warning = (found: string, help: string): DoctorResult => ({ level: 'warning', found, help });

export const error = (found: string, help: string): DoctorResult => ({ level: 'error', found, help });

interface Attempt {
  readonly status: number;
  readonly text: string;
}

/**
 * Tries to create a resource in a transaction that must fail, because its other entry reads a missing resource. If
 * transactions are atomic, nothing is stored, whether or not the resource is valid.
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
