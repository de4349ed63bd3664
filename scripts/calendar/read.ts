import type { MedplumClient } from '@medplum/core';
import type {
  ExtractResource,
  HealthcareService,
  Practitioner,
  Resource,
  ResourceType,
  Schedule,
  Slot,
  Task,
} from '@medplum/fhirtypes';
import { offersAllServices, type Publishing, publishingOf } from '../../core/calendar/parameters/schedule-calendar.ts';
import { closedDays, isClosedDays } from '../../core/calendar/publish/closed-days.ts';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import type { Closure } from '../../core/calendar/time/not-available.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { serviceIdsOf } from '../../core/fhir/reference/service-reference.ts';
import { rowCodes } from '../../core/rows/row.ts';

const FRESH = { cache: 'reload' } as const;

/** How many resources one page has. */
const PAGE = 1000;

/** The calendars of a project: its schedules, and everything that their opening hours are made of. */
export interface Calendars {
  readonly schedules: readonly (Schedule & { readonly id: string })[];
  /** Those that take appointments: the list of closed days is left out. */
  readonly services: readonly HealthcareService[];
  readonly closed: readonly HealthcareService[];
  /** By reference. */
  readonly actors: ReadonlyMap<string, Resource>;
  /** The Tasks that record how far each schedule is published, by the schedule's id. */
  readonly publications: ReadonlyMap<string, Task>;
}

/** All resources that a search finds. */
export async function searchAll<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  query: Record<string, string> | string,
): Promise<ExtractResource<T>[]> {
  const found: ExtractResource<T>[] = [];
  const parameters = new URLSearchParams(query);
  parameters.set('_count', String(PAGE));
  for await (const page of medplum.searchResourcePages(type, parameters, FRESH)) {
    found.push(...page);
  }
  return found;
}

const actorTypes = ['Device', 'HealthcareService', 'Location', 'Practitioner', 'PractitionerRole'] as const;

async function readActors(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<Map<string, Resource>> {
  const references = [...new Set(schedules.flatMap(({ actor }) => actor.flatMap(({ reference }) => reference ?? [])))];
  const actors = new Map<string, Resource>();
  for (const type of actorTypes) {
    const ids = references.filter((one) => one.startsWith(`${type}/`)).map((one) => one.slice(type.length + 1));
    for (let index = 0; index < ids.length; index += 100) {
      for (const actor of await searchAll(medplum, type, { _id: ids.slice(index, index + 100).join(',') })) {
        actors.set(`${type}/${actor.id}`, actor);
      }
    }
  }
  return actors;
}

const hasId = <T extends Resource>(resource: T): resource is T & { readonly id: string } => resource.id !== undefined;

/** Reads all calendars of a project. */
export async function readCalendars(medplum: MedplumClient, config: BookingConfig): Promise<Calendars> {
  const [schedules, services, tasks] = await Promise.all([
    searchAll(medplum, 'Schedule', '_sort=_id'),
    searchAll(medplum, 'HealthcareService', '_sort=_id'),
    searchAll(medplum, 'Task', { code: rowCodes(['publish'], config) }),
  ]);
  return {
    schedules: schedules.filter(hasId),
    services: services.filter((service) => !isClosedDays(service, config)),
    closed: services.filter((service) => isClosedDays(service, config)),
    actors: await readActors(medplum, schedules),
    publications: new Map(tasks.map((task) => [publicationIn(task)?.schedule ?? '', task])),
  };
}

/** The services that a schedule offers. */
export function servicesOf(schedule: Schedule, { services }: Pick<Calendars, 'services'>): HealthcareService[] {
  const ids = serviceIdsOf(schedule);
  return services.filter(({ id = '' }) => offersAllServices(schedule) || ids.includes(id));
}

/** What is published for a schedule, or why nothing is. */
export function publishingIn(schedule: Schedule, calendars: Calendars, config: BookingConfig): Publishing {
  const actor = calendars.actors.get(schedule.actor[0]?.reference ?? '');
  return publishingOf({ schedule, services: servicesOf(schedule, calendars), actor }, config);
}

/** The closures of the whole installation. */
export const closuresIn = ({ closed }: Calendars, config: BookingConfig): Closure[] => closedDays(closed, config);

function isPractitioner(resource: Resource | undefined): resource is Practitioner {
  return resource?.resourceType === 'Practitioner';
}

/** What people call a schedule: the name of its actor. */
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

/** All Slots of a schedule from an instant on, in milliseconds since 1970 UTC. */
export function readSlots(medplum: MedplumClient, schedule: string, from: number): Promise<Slot[]> {
  return searchAll(
    medplum,
    'Slot',
    new URLSearchParams([
      ['schedule', `Schedule/${schedule}`],
      ['_filter', `(end gt "${formatInstant(from)}")`],
      ['_sort', 'start,_id'],
    ]).toString(),
  );
}
