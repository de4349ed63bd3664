import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { schedulesOf } from '../../core/fhir/scheduling/hours-data.ts';
import { type Calendars, nameOf } from './read.ts';

type StoredSchedule = Calendars['schedules'][number];

type Target =
  | { readonly kind: 'schedule'; readonly schedule: StoredSchedule; readonly schedules: readonly StoredSchedule[] }
  | {
      readonly kind: 'service';
      readonly service: HealthcareService & { readonly id: string };
      readonly schedules: readonly StoredSchedule[];
    };

const isSame = (one: string | undefined, other: string): boolean => one?.toLowerCase() === other.toLowerCase();

function isService({ id, name, type = [] }: HealthcareService, text: string): boolean {
  const codes = type.flatMap(({ coding = [] }) => coding.map(({ code }) => code));
  return [id, `HealthcareService/${id}`, name, ...codes].some((one) => isSame(one, text));
}

function isSchedule(schedule: Schedule, text: string, calendars: Calendars): boolean {
  const names = [schedule.id, `Schedule/${schedule.id}`, schedule.actor[0]?.reference, nameOf(schedule, calendars)];
  return names.some((one) => isSame(one, text));
}

/**
 * Finds the target of a command: `Schedule/…`, `HealthcareService/…`, an id, the name of a schedule's actor, or the
 * name or code of a service.
 *
 * @throws Error that lists the targets, if none or more than one has this name
 */
export function findTarget(text: string, calendars: Calendars): Target {
  const targets: Target[] = [
    ...calendars.schedules
      .filter((schedule) => isSchedule(schedule, text, calendars))
      .map((schedule): Target => ({ kind: 'schedule', schedule, schedules: [schedule] })),
    ...calendars.services
      .filter((service) => isService(service, text))
      .flatMap((service): Target[] => {
        const schedules = schedulesOf(service, calendars);
        return service.id ? [{ kind: 'service', service: { ...service, id: service.id }, schedules }] : [];
      }),
  ];
  const [target, ...more] = targets;
  if (!target) {
    throw new Error(`There is no schedule or service '${text}'. npm run calendar -- list names all of them.`);
  }
  if (more.length > 0) {
    const names = targets.map(labelOf);
    throw new Error(`'${text}' is ambiguous: ${names.join(', ')}. Name one of these.`);
  }
  return target;
}

/** The reference to a target. */
export const labelOf = (target: Target): string =>
  target.kind === 'schedule' ? `Schedule/${target.schedule.id}` : `HealthcareService/${target.service.id}`;

/** The service with a reference, id, name or code. */
export function findService(text: string, calendars: Calendars): HealthcareService & { readonly id: string } {
  const target = findTarget(text, { ...calendars, schedules: [] });
  if (target.kind !== 'service') {
    throw new Error(`There is no service '${text}'.`);
  }
  return target.service;
}
