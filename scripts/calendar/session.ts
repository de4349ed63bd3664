import type { MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';
import { checkOpeningHours } from '../../core/calendar/parameters/check-opening-hours.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { type CredentialArguments, open } from '../cli/credentials.ts';
import { type Awaited, type Progress, untilPublished } from './progress.ts';
import { type Calendars, readCalendars } from './read.ts';

/** What every command works with. */
export interface Session {
  readonly medplum: MedplumClient;
  readonly config: BookingConfig;
  readonly calendars: Calendars;
}

/** The options of a command that writes. */
export interface WritingArguments extends CredentialArguments {
  readonly dryRun?: boolean;
  readonly wait?: boolean;
}

/** Connects, and reads all calendars. */
export async function openCalendars(given: CredentialArguments): Promise<Session> {
  const { medplum, config } = await open(given);
  return { medplum, config, calendars: await readCalendars(medplum, config) };
}

/** Refuses opening hours that cannot be used, even where Medplum does not ask the service before storing them. */
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

function line({ schedules, done, failed }: Progress): string {
  const problems = failed.length > 0 ? `, ${failed.length} cannot be published` : '';
  return `published: ${done} of ${schedules} ${schedules === 1 ? 'schedule' : 'schedules'}${problems}`;
}

/** Waits until a change is published and reports progress, unless the command is not to wait. */
export async function follow({ medplum, config }: Session, awaited: Awaited, wait = true): Promise<void> {
  if (!wait || awaited.schedules.length === 0) {
    return;
  }
  const { failed } = await untilPublished(medplum, awaited, config, (progress) => console.error(line(progress)));
  for (const id of failed) {
    console.error(`Schedule/${id} cannot be published. npm run calendar -- show Schedule/${id} says why.`);
  }
  if (failed.length > 0) {
    process.exitCode = 1;
  }
}
