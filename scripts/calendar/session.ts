import type { MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { checkOpeningHours } from '../../core/calendar/parameters/check-opening-hours.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { type CredentialArguments, open } from '../cli/credentials.ts';
import { type Calendars, readCalendars } from './read.ts';

/** Connection and calendars of a command. */
export interface Session {
  readonly medplum: MedplumClient;
  readonly config: BookingConfig;
  readonly calendars: Calendars;
}

/** Connects, and reads all calendars. */
export async function openCalendars(given: CredentialArguments): Promise<Session> {
  const { medplum, config } = await open(given);
  return { medplum, config, calendars: await readCalendars(medplum, config) };
}

/** Throws for invalid opening hours, even where Medplum does not call the service before it stores them. */
export function requireUsable(holder: Schedule | HealthcareService, config: BookingConfig): void {
  const found = checkOpeningHours(holder, config);
  const problems = found.map(({ diagnostics, expression }) => `${expression}: ${diagnostics}`);
  if (problems.length > 0) {
    throw new Error(`${problems.join('\n')}\nNothing was changed.`);
  }
}

/** Writes a resource unless it has been changed since it was read. */
export async function save<T extends Resource>({ medplum }: Session, resource: T): Promise<T & { id: string }> {
  if (resource.id === undefined) {
    return medplum.createResource(resource);
  }
  const headers = { 'If-Match': `W/"${resource.meta?.versionId}"` };
  return medplum.updateResource(resource, { headers });
}
