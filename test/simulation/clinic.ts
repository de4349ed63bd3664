import type { WithId } from '@medplum/core';
import type {
  Extension,
  HealthcareService,
  Patient,
  Practitioner,
  Resource,
  Schedule,
  Slot,
  Subscription,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { SERVICE_TYPE_REFERENCE } from '../../core/fhir/reference.ts';
import { requestorTag } from '../../core/fhir/tags.ts';
import { topicUrl } from '../../core/notifications/subscription/topics.ts';
import { subscription } from '../core/notifications/support.ts';
import { config } from './config.ts';
import type { Snapshot } from './medplum.ts';
import { createWorld, type World } from './world.ts';

/** A calendar of a scene. Times are `hh:mm` UTC of its date; hours of 24 and more lie on the next day. */
export interface Calendar {
  /** When it is open; its Slots are published. */
  readonly hours?: string;
  /** Slots made by hand, place by place; nothing is published then. */
  readonly offers?: readonly (readonly string[])[];
  /** What the service asks for, in minutes; without a duration it has no scheduling parameters. */
  readonly duration?: number;
  readonly grid?: number;
  readonly before?: number;
  readonly after?: number;
  readonly capacity?: number;
  readonly zone?: string;
  readonly date?: string;
  readonly confirmation?: 'manual';
  /** How many weeks it is open; by default the one of its date. */
  readonly weeks?: number;
  /** Whether freed time is offered to those who wait. */
  readonly refill?: true;
  /** Whether it is one of those in which the steps of a visit take place, in any order. */
  readonly visit?: true;
  /** The name of the calendar whose service it shares. */
  readonly serviceOf?: string;
  /** The name of the calendar whose practitioner it is, too. */
  readonly actorOf?: string;
}

/** A calendar as it is stored, and as the scene means it. */
export interface Stored {
  readonly name: string;
  readonly plan: Calendar;
  readonly schedule: WithId<Schedule>;
  readonly service: WithId<HealthcareService>;
  readonly actor: string;
}

/** The people of the scenes. */
export interface Clinic {
  readonly snapshot: Snapshot;
  readonly calendars: ReadonlyMap<string, Stored>;
  readonly patients: Readonly<Record<'A' | 'B', string>>;
  /** Id of the service that asks for visits: of two steps, and perhaps a third. */
  readonly visit: string | undefined;
}

export const MINUTE = 60_000;

/** The day of the scenes, and the moment at which they begin: a Monday, and the Wednesday before. */
export const DATE = '2027-01-11';
export const BEGIN = Date.parse('2027-01-06T06:00:00Z');

/** A time of a calendar in milliseconds. */
export function momentOf(time: string, { date = DATE }: Calendar = {}): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return Date.parse(date) + (hours * 60 + minutes) * MINUTE + seconds * 1_000;
}

/** `09:00-09:30` in milliseconds. */
export function periodOf(time: string, plan: Calendar = {}): { readonly start: number; readonly end: number } {
  const [from = '', to = ''] = time.split('-');
  return { start: momentOf(from, plan), end: momentOf(to, plan) };
}

export const instant = (time: number): string => new Date(time).toISOString();

const minutes = (url: string, value: number | undefined): Extension[] =>
  value === undefined ? [] : [{ url, valueDuration: { value, unit: 'min' } }];

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

function dayOf(time: number, zone: string): { readonly day: (typeof weekdays)[number]; readonly time: string } {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(time);
  const part = (type: string): string =>
    parts.find((dateTimeFormatPart) => dateTimeFormatPart.type === type)?.value ?? '';
  const day = weekdays.find((one) => one === part('weekday').toLowerCase()) ?? 'mon';
  return { day, time: `${part('hour')}:${part('minute')}:00` };
}

/** Opening hours as a service states them: in local time. */
export function availableTime(hours: string, plan: Calendar): HealthcareService['availableTime'] {
  const { zone = 'UTC' } = plan;
  const { start, end } = periodOf(hours, plan);
  const [from, to] = [dayOf(start, zone), dayOf(end, zone)];
  return [{ daysOfWeek: [from.day], availableStartTime: from.time, availableEndTime: to.time }];
}

function serviceOf(name: string, plan: Calendar): HealthcareService {
  const { hours, duration, grid, before, after, capacity, zone = 'UTC' } = plan;
  const parameters: Extension[] = [
    ...minutes('duration', duration),
    ...minutes('alignmentInterval', grid),
    ...minutes('bufferBefore', before),
    ...minutes('bufferAfter', after),
    ...(capacity === undefined ? [] : [{ url: 'slotCapacity', valuePositiveInt: capacity }]),
    { url: 'timezone', valueCode: zone },
  ];
  return {
    resourceType: 'HealthcareService',
    active: true,
    name,
    type: [{ coding: [{ system: 'urn:services', code: name }] }],
    ...(hours && { availableTime: availableTime(hours, plan) }),
    ...(duration !== undefined && {
      extension: [{ url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters', extension: parameters }],
    }),
  };
}

/** The service type by which Schedules, appointments and Slots name a service. */
export const typeOf = ({ id, type }: Pick<WithId<HealthcareService>, 'id' | 'type'>) => ({
  ...type?.[0],
  extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${id}` } }],
});

/** Stores something as clinic staff do. */
async function store<T extends Resource>(world: World, resource: T): Promise<WithId<T>> {
  const { status, body } = await world.ask('front-desk', {
    method: 'POST',
    path: `/${resource.resourceType}`,
    body: resource,
  });
  if (status !== 201) {
    throw new Error(`The clinic could not be made: ${status} ${JSON.stringify(body)}`);
  }
  return body as WithId<T>;
}

const policy = (part: Extension): Extension => ({
  url: artefactUri(config, 'LocalBookingPolicy'),
  extension: [part],
});

/** The policy by which freed time is offered to those who wait. */
const refilling = policy({ url: 'refill', valueBoolean: true });

const dateOf = (time: number): string => instant(time).slice(0, 10);

async function open(world: World, name: string, plan: Calendar, others: ReadonlyMap<string, Stored>): Promise<Stored> {
  const { date = DATE, weeks = 1, offers, confirmation, refill, serviceOf: shared, actorOf } = plan;
  const service = others.get(shared ?? '')?.service ?? (await store(world, serviceOf(name, plan)));
  const actor =
    others.get(actorOf ?? '')?.actor ??
    `Practitioner/${(await store<Practitioner>(world, { resourceType: 'Practitioner', name: [{ family: name }] })).id}`;
  const schedule = await store<Schedule>(world, {
    resourceType: 'Schedule',
    active: true,
    serviceType: [typeOf(service)],
    actor: [{ reference: actor } as NonNullable<Schedule['actor']>[number]],
    planningHorizon: {
      start: dateOf(Date.parse(date) - 86_400_000),
      end: dateOf(Date.parse(date) + (2 + 7 * (weeks - 1)) * 86_400_000),
    },
    extension: [
      ...(offers ? [{ url: artefactUri(config, 'LocalPublishing'), valueBoolean: false }] : []),
      ...(confirmation ? [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: confirmation }] : []),
      ...(refill ? [refilling] : []),
    ],
  });
  for (const offer of (offers ?? []).flat()) {
    const { start, end } = periodOf(offer, plan);
    await store<Slot>(world, {
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule.id}` },
      status: 'free',
      start: instant(start),
      end: instant(end),
    });
  }
  return { name, plan, schedule, service, actor };
}

/** The names of the steps of a visit; the last is optional. */
export const STEPS = ['first', 'second', 'third'] as const;

/** How the service that asks for visits is named. */
export const visitType = { coding: [{ system: 'urn:services', code: 'visit' }] };

async function visitIn(world: World, calendars: readonly Stored[]): Promise<string | undefined> {
  const schedules = calendars.map(({ schedule }) => schedule.id);
  const steps = STEPS.map((name): Extension => {
    const pool = schedules.map((id) => ({ url: 'schedule', valueReference: { reference: `Schedule/${id}` } }));
    const optional = name === 'third' ? [{ url: 'optional', valueBoolean: true }] : [];
    return { url: 'step', extension: [{ url: 'name', valueString: name }, ...pool, ...optional] };
  });
  const service: HealthcareService = {
    resourceType: 'HealthcareService',
    name: 'visit',
    type: [visitType],
    extension: [
      { url: artefactUri(config, 'LocalVisit'), extension: steps },
      ...(calendars.some(({ plan }) => plan.refill) ? [refilling] : []),
    ],
  };
  return schedules.length > 0 ? (await store(world, service)).id : undefined;
}

/** How many minutes the clock may need to publish what is left. */
const MAX_MINUTES = 5;

/** Makes a clinic with some calendars, whose Slots are published, and a patient for each portal. */
export async function createClinic(installed: Snapshot, plans: Readonly<Record<string, Calendar>>): Promise<Clinic> {
  const world = createWorld(installed);
  const { medplum } = world;
  const project = medplum.all('Project')[0]?.id;
  const patientOf = async (portal: 'portal-a' | 'portal-b'): Promise<string> => {
    const [, id = ''] = medplum.profileOf(portal).split('/');
    const { id: patient } = await medplum.system.createResource<Patient>({
      resourceType: 'Patient',
      active: true,
      meta: { tag: [requestorTag(id, config)], ...(project && { project }) },
    });
    return `Patient/${patient}`;
  };
  const patients = { A: await patientOf('portal-a'), B: await patientOf('portal-b') };
  // The people of portal A hear of what is offered; those of portal B are called.
  const [, listener = ''] = medplum.profileOf('portal-a').split('/');
  await medplum.system.createResource<Subscription>({
    ...subscription({ status: 'active', criteria: topicUrl('appointment-offer', config) }),
    meta: {
      profile: [artefactUri(config, 'LocalSubscriptionTermin')],
      tag: [requestorTag(listener, config)],
      ...(project && { project }),
    },
  });
  const calendars = new Map<string, Stored>();
  let visit: string | undefined;
  const opening = world.act('clinic', async () => {
    for (const [name, plan] of Object.entries(plans)) {
      calendars.set(name, await open(world, name, plan, calendars));
    }
    visit = await visitIn(
      world,
      [...calendars.values()].filter(({ plan }) => plan.visit),
    );
  });
  await world.drain();
  await opening;
  await world.runClock();
  const isPublished = (): boolean =>
    [...calendars.values()].every(({ schedule }) =>
      medplum.all<Slot>('Slot').some((slot) => slot.schedule.reference === `Schedule/${schedule.id}`),
    );
  for (let minute = 0; minute < MAX_MINUTES && !isPublished(); minute++) {
    medplum.turn(MINUTE);
    await world.runClock();
  }
  return { snapshot: medplum.snapshot(), calendars, patients, visit };
}
