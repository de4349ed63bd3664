import { afterEach, beforeAll } from '@jest/globals';
import type {
  Appointment,
  HealthcareService,
  Practitioner,
  Reference,
  Resource,
  ResourceType,
  Schedule,
  Slot,
  Task,
} from '@medplum/fhirtypes';
import {
  type Publication,
  publicationIn,
  publicationTask,
  type Sweep,
  sweepIn,
  sweepTask,
} from '../../../core/calendar/publish/publication.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { config } from '../config.ts';
import { type BotServer, withMedplum } from '../medplum.ts';

export const DAY = 86_400_000;

/** Midnight, in UTC, of the day in four weeks on which the calendars of these tests are open. */
export const day = Math.floor(Date.now() / DAY) * DAY + 28 * DAY;

/** A date so many days after that day. */
export const date = (days = 0): string => new Date(day + days * DAY).toISOString().slice(0, 10);

/** An instant on that day, or so many days later. */
export const at = (time: string, days = 0): string => `${date(days)}T${time}:00.000Z`;

const weekday = (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[new Date(day).getUTCDay()] ?? 'sun';

const minutes = (url: string, value: number) => ({ url, valueDuration: { value, unit: 'min' } });

/** Opening hours on the day's weekday. */
export const open = (from: string, to: string): HealthcareService['availableTime'] => [
  { daysOfWeek: [weekday], availableStartTime: `${from}:00`, availableEndTime: `${to}:00` },
];

/** The Slots of a calendar that is open from 9 to 11 (`CalendarServer.times`). */
export const wholeDay = ['free 09:00-09:30', 'free 09:30-10:00', 'free 10:00-10:30', 'free 10:30-11:00'];

/** What a service is like besides its opening hours; times in minutes. */
export interface ServiceOptions {
  readonly before?: number;
  readonly after?: number;
  readonly interval?: number;
  readonly capacity?: number;
  readonly more?: Partial<HealthcareService>;
}

/** A service of half-hour appointments, by default from 9 to 11. */
export function visit(
  hours = open('09:00', '11:00'),
  { before, after, interval = 30, capacity, more = {} }: ServiceOptions = {},
): HealthcareService {
  return {
    resourceType: 'HealthcareService',
    availableTime: hours,
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          minutes('duration', 30),
          minutes('alignmentInterval', interval),
          ...(before === undefined ? [] : [minutes('bufferBefore', before)]),
          ...(after === undefined ? [] : [minutes('bufferAfter', after)]),
          ...(capacity === undefined ? [] : [{ url: 'slotCapacity', valueInteger: capacity }]),
          { url: 'timezone', valueCode: 'UTC' },
        ],
      },
    ],
    ...more,
  };
}

/** How a Schedule names a service that it offers. */
export const offering = ({ id }: HealthcareService): NonNullable<Schedule['serviceType']>[number] => ({
  extension: [
    {
      url: 'https://medplum.com/fhir/service-type-reference',
      valueReference: { reference: `HealthcareService/${id}` },
    },
  ],
});

/** A service in which nobody is seen: on this day all calendars are closed. */
export const closedOn = (from: string, to = from): HealthcareService => ({
  resourceType: 'HealthcareService',
  identifier: [{ system: artefactUri(config, 'LocalClosedDays'), value: 'closed' }],
  notAvailable: [{ description: 'Holidays', during: { start: from, end: to } }],
});

/** A resource as it is stored. */
export type Stored<T> = T & { id: string };

const types: readonly ResourceType[] = [
  'Task',
  'Slot',
  'Appointment',
  'Encounter',
  'Schedule',
  'HealthcareService',
  'Patient',
];

/** Removes everything that tests of calendars have stored. */
async function clear(server: BotServer): Promise<void> {
  for (const type of types) {
    const found = await server.find(`${type}?_count=1000`);
    await Promise.all(found.map(({ id }) => server.fhir('DELETE', `${type}/${id}`)));
  }
}

/** A calendar that is open on the day from 9 to 11, with its service. */
export interface Calendar {
  readonly schedule: Stored<Schedule>;
  readonly service: Stored<HealthcareService>;
}

/** Requests to the stand-in of Medplum about calendars, all of which are gone after each test. */
export interface CalendarServer extends BotServer {
  /** Stores a practitioner whose calendars the tests have. */
  readonly practitioner: Stored<Practitioner>;
  /** Stores a Schedule, by default one without services for the day alone. */
  schedule(more?: Partial<Schedule>): Promise<Stored<Schedule>>;
  /** Stores a calendar that offers a service, by default that of `visit()`. */
  calendar(service?: HealthcareService, more?: Partial<Schedule>): Promise<Calendar>;
  /** Stores a Slot as staff do. */
  slot(
    schedule: Stored<Schedule>,
    status: Slot['status'],
    from: string,
    to: string,
    more?: Partial<Slot>,
  ): Promise<Stored<Slot>>;
  /** Stores an appointment of some slots. */
  appointment(
    status: Appointment['status'],
    slots: readonly Slot[],
    more?: Partial<Appointment>,
  ): Promise<Stored<Appointment>>;
  /** Stores the Task of a publication. */
  publication(publication: Publication): Promise<Stored<Task>>;
  /** Stores the row of the sweep over all Schedules, by default of one that is over. */
  sweep(sweep?: Partial<Sweep>): Promise<Stored<Task>>;
  /** The Slots of a Schedule, in order: `free 09:00-09:30`. */
  times(schedule: Stored<Schedule>): Promise<string[]>;
  /** The publication of a Schedule with its Task; `undefined` if there is none. */
  publicationOf(schedule: Stored<Schedule>): Promise<(Publication & { readonly task: Task }) | undefined>;
  /** The sweep over all Schedules; `undefined` if there is none. */
  sweepOfAll(): Promise<Sweep | undefined>;
}

const reference = ({ resourceType, id }: Resource): string => `${resourceType}/${id}`;

function textOf({ status, start, end }: Slot): string {
  return `${status} ${start.slice(11, 16)}-${end.slice(11, 16)}`;
}

function calendarServer(server: BotServer, practitioner: Stored<Practitioner>): CalendarServer {
  const schedule: CalendarServer['schedule'] = (more = {}) =>
    server.create<Schedule>({
      resourceType: 'Schedule',
      actor: [{ reference: reference(practitioner) } as Reference<Practitioner>],
      planningHorizon: { start: date(), end: date() },
      ...more,
    });
  return {
    ...server,
    practitioner,
    schedule,
    async calendar(service = visit(), more = {}) {
      const stored = await server.create(service);
      return { service: stored, schedule: await schedule({ serviceType: [offering(stored)], ...more }) };
    },
    slot: ({ id }, status, from, to, more = {}) =>
      server.create<Slot>({
        resourceType: 'Slot',
        schedule: { reference: `Schedule/${id}` },
        status,
        start: from.length > 5 ? from : at(from),
        end: to.length > 5 ? to : at(to),
        ...more,
      }),
    appointment: (status, slots, more = {}) =>
      server.create<Appointment>({
        resourceType: 'Appointment',
        status,
        participant: [{ actor: { reference: reference(practitioner) } as Reference<Practitioner>, status: 'accepted' }],
        slot: slots.map((slot) => ({ reference: reference(slot) }) as Reference<Slot>),
        start: slots[0]?.start ?? at('09:00'),
        end: slots.at(-1)?.end ?? at('09:30'),
        ...more,
      }),
    publication: (publication) => server.create(publicationTask(publication, config)),
    sweep: (sweep = {}) =>
      server.create(
        sweepTask(
          { status: 'accepted', due: Date.now() + DAY, began: Date.now(), offset: undefined, ...sweep },
          config,
        ),
      ),
    async times({ id }) {
      const slots = await server.find<Slot>(`Slot?schedule=Schedule/${id}&_count=1000`);
      return slots
        .sort(
          (slot, other) => Date.parse(slot.start) - Date.parse(other.start) || slot.status.localeCompare(other.status),
        )
        .map(textOf);
    },
    async publicationOf({ id }) {
      const [task] = await server.find<Task>(`Task?focus=Schedule/${id}`);
      const publication = task && publicationIn(task);
      return publication && { ...publication, task };
    },
    async sweepOfAll() {
      const rows = await server.find<Task>('Task?_count=1000');
      return rows.flatMap((row) => sweepIn(row) ?? [])[0];
    },
  };
}

/** Starts a stand-in of Medplum for the tests of a file, without calendars at the beginning of each test. */
export function withCalendars(): () => CalendarServer {
  const medplum = withMedplum();
  let server: CalendarServer;
  beforeAll(async () => {
    const practitioner = await medplum().create<Practitioner>({
      resourceType: 'Practitioner',
      name: [{ family: 'Lovelace' }],
    });
    server = calendarServer(medplum(), practitioner);
  });
  afterEach(() => clear(server));
  return () => server;
}
