import type { CodeableConcept, Coding, HealthcareService, Reference, Schedule } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from '../../../core/calendar/parameters/scheduling-parameters.ts';
import { serviceIdOf } from '../../../core/fhir/reference/service-reference.ts';
import { type BookingService, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';

/** A calendar in which times of a service can be booked. */
export interface BookableSchedule {
  readonly reference: string;
  /** Whose calendar it is; empty where the clinic gives it no name. */
  readonly name: string;
  /** Whether the clinic's staff confirm each booking. */
  readonly isRequest: boolean;
  /** How long an appointment is, in minutes; `undefined`: as long as the Slot. */
  readonly minutes: number | undefined;
}

/** Something that patients can book. */
export interface BookableService {
  /** Its name in addresses: `system|code`, or empty for Schedules that name no service. */
  readonly key: string;
  readonly coding: Coding | undefined;
  readonly name: string;
  readonly description: string | undefined;
  readonly schedules: readonly BookableSchedule[];
}

/** How many Schedules and services the portal shows. */
const MOST = '500';

const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && typeof one === 'object') : [];

const keyOf = ({ system = '', code }: Coding): string => `${system}|${code}`;

const codingsOf = (concepts: readonly CodeableConcept[] | undefined): Coding[] =>
  listOf(concepts).flatMap(({ coding }) => listOf(coding).filter(({ code }) => typeof code === 'string'));

const idIn = ({ reference }: Reference): string | undefined => reference?.split('/')[1];

/** The length of appointments that Medplum's scheduling parameters name, in minutes. */
function minutesOf(resource: Schedule | HealthcareService | undefined, service?: string): number | undefined {
  const parameters = listOf(resource?.extension).filter(({ url }) => url === SCHEDULING_PARAMETERS);
  const own = parameters.find(({ extension }) => {
    const named = listOf(extension).find(({ url }) => url === 'service')?.valueReference?.reference;
    return service === undefined || named === undefined || named === `HealthcareService/${service}`;
  });
  const length = listOf(own?.extension).find(({ url }) => url === 'duration')?.valueDuration;
  const minutes: Readonly<Record<string, number>> = { min: 1, h: 60, d: 1440, wk: 10_080 };
  const factor = minutes[length?.code ?? length?.unit ?? ''];
  return factor !== undefined && typeof length?.value === 'number' && length.value > 0
    ? length.value * factor
    : undefined;
}

interface Clinic {
  readonly schedules: readonly Schedule[];
  readonly services: ReadonlyMap<string, HealthcareService>;
}

/** The HealthcareServices that a Schedule offers: named by it, or its actor. */
function servicesOf({ serviceType, actor }: Schedule, { services }: Clinic): HealthcareService[] {
  const named = listOf(serviceType).map(serviceIdOf);
  const actors = listOf(actor)
    .filter(({ reference }) => reference?.startsWith('HealthcareService/'))
    .map(idIn);
  const ids = new Set([...named, ...actors].filter((id) => id !== undefined));
  return [...ids].map((id) => services.get(id)).filter((service) => service !== undefined);
}

function bookableSchedule(schedule: Schedule, service: HealthcareService | undefined, url: string): BookableSchedule {
  const confirmation = [schedule, service]
    .map((resource) => listOf(resource?.extension).find((extension) => extension.url === url)?.valueCode)
    .find((code) => code !== undefined);
  return {
    reference: `Schedule/${schedule.id}`,
    name: listOf(schedule.actor).find(({ display }) => display)?.display ?? '',
    isRequest: confirmation === 'manual',
    minutes: minutesOf(schedule, service?.id) ?? minutesOf(service),
  };
}

/** What one Schedule lets patients book. */
function offersOf(schedule: Schedule, clinic: Clinic, confirmation: string): BookableService[] {
  const services = servicesOf(schedule, clinic);
  const codings = [...codingsOf(schedule.serviceType), ...services.flatMap(({ type }) => codingsOf(type))];
  const known = new Map(codings.map((coding) => [keyOf(coding), coding]));
  const offers = [...(known.size > 0 ? known : new Map([['', undefined]]))];
  return offers.map(([key, coding]): BookableService => {
    const service = services.find(({ type }) => codingsOf(type).some((one) => keyOf(one) === key)) ?? services[0];
    const isOnly = service && codingsOf(service.type).length <= 1;
    return {
      key,
      coding,
      name:
        (isOnly && service?.name) ||
        coding?.display ||
        codings.find(({ display }) => display)?.display ||
        (coding?.code ?? ''),
      description: service?.comment,
      schedules: [bookableSchedule(schedule, service, confirmation)],
    };
  });
}

/** Combines what several Schedules offer of one service. */
function together(offers: readonly BookableService[]): BookableService[] {
  const found = new Map<string, BookableService>();
  for (const offer of offers) {
    const known = found.get(offer.key);
    found.set(offer.key, known ? { ...known, schedules: [...known.schedules, ...offer.schedules] } : offer);
  }
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

/** What can be booked at the clinic, by name. */
export async function readServices(
  service: BookingService,
  confirmation: string,
): Promise<readonly BookableService[] | Refusal> {
  const [schedules, services] = await Promise.all([
    service.search('Schedule', { _count: MOST }),
    service.search('HealthcareService', { _count: MOST }),
  ]);
  if (isRefusal(schedules) || isRefusal(services)) {
    return isRefusal(schedules) ? schedules : (services as Refusal);
  }
  const clinic: Clinic = {
    schedules: resourcesIn(schedules, 'Schedule'),
    services: new Map(resourcesIn(services, 'HealthcareService').map((one) => [one.id ?? '', one])),
  };
  return together(clinic.schedules.flatMap((schedule) => offersOf(schedule, clinic, confirmation)));
}
