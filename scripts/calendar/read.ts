import type { MedplumClient } from '@medplum/core';
import type { Practitioner, Resource, Schedule, Task } from '@medplum/fhirtypes';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { actorTypes, type HoursData, hoursData } from '../../core/fhir/scheduling/hours-data.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';
import { type CredentialArguments, open } from '../cli/credentials.ts';
import { searchAll } from '../medplum/project.ts';

/** The calendars of a project. */
export interface Calendars extends HoursData {
  /** The Tasks that record the end of publication of each schedule, by the schedule's id. */
  readonly publications: ReadonlyMap<string, Task>;
}

async function readActors(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<Resource[]> {
  const references = [...new Set(schedules.flatMap(({ actor }) => actor.flatMap(({ reference }) => reference ?? [])))];
  const actors: Resource[] = [];
  for (const type of actorTypes) {
    const ids = references.filter((one) => one.startsWith(`${type}/`)).map((one) => one.slice(type.length + 1));
    for (const some of chunks(ids)) {
      actors.push(...(await searchAll(medplum, type, { _id: some.join(',') })));
    }
  }
  return actors;
}

/** Reads all calendars of a project. */
export async function readCalendars(medplum: MedplumClient, config: BookingConfig): Promise<Calendars> {
  const [schedules, services, tasks] = await Promise.all([
    searchAll(medplum, 'Schedule', { _sort: '_id' }),
    searchAll(medplum, 'HealthcareService', { _sort: '_id' }),
    searchAll(medplum, 'Task', { code: rowCodes(['publish'], config) }),
  ]);
  return {
    ...hoursData([...schedules, ...services, ...(await readActors(medplum, schedules))], config),
    publications: new Map(tasks.map((task) => [publicationIn(task)?.schedule ?? '', task])),
  };
}

function isPractitioner(resource: Resource | undefined): resource is Practitioner {
  return resource?.resourceType === 'Practitioner';
}

/** The display name of a schedule: the name of its actor. */
export function nameOf({ actor, id }: Schedule, { actors }: Pick<Calendars, 'actors'>): string {
  const [first] = actor;
  const found = actors.get(first?.reference ?? '');
  if (first?.display) {
    return first.display;
  }
  if (isPractitioner(found)) {
    const [name] = found.name ?? [];
    return [...(name?.prefix ?? []), ...(name?.given ?? []), name?.family ?? ''].join(' ').trim();
  }
  return (
    (found && 'name' in found && typeof found.name === 'string' ? found.name : first?.reference) ?? `Schedule/${id}`
  );
}

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
