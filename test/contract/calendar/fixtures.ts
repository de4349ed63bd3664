import { randomUUID } from 'node:crypto';
import type { Extension, HealthcareService, Patient, Resource, ResourceType, Schedule, Slot } from '@medplum/fhirtypes';
import { z } from 'zod';
import { eventually } from '../../lib/until.ts';
import { proposed, stored, succeeded } from '../fixtures.ts';
import { type Answer, medplum } from '../http.ts';

const DAY = 86_400_000;

/** A day that is so many weeks ahead, as a date. */
const inWeeks = (count: number): string => new Date(Date.now() + count * 7 * DAY).toISOString().slice(0, 10);

/** The day in four weeks; the calendars of these tests are open on that day alone. */
export const date = inWeeks(4);

/** The same weekday, on which the calendars of no other test are open: closed days close all calendars. */
export const closedDate = inWeeks(9);

/** An instant of that day, in UTC. */
export const at = (time: string): string => `${date}T${time}:00.000Z`;

const weekday =
  (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[new Date(at('00:00')).getUTCDay()] ?? 'sun';

const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, unit: 'min' } });

async function create<T extends ResourceType>(type: T, body: Resource & { resourceType: T }) {
  return succeeded(type, await medplum('front-desk', 'POST', `/${type}`, { body }));
}

/** Writes a resource anew as clinic staff do. */
export async function change<T extends ResourceType>(type: T, body: Resource & { resourceType: T }) {
  return succeeded(type, await medplum('front-desk', 'PUT', `/${type}/${body.id}`, { body }));
}

/** A horizon that holds the day for Medplum too, whose end is the first moment of its last day. */
export const wholeDay = {
  planningHorizon: { start: date, end: new Date(Date.parse(date) + DAY).toISOString().slice(0, 10) },
};

/** Opening hours from one time of the day to another. */
export const open = (from: string, to: string): HealthcareService['availableTime'] => [
  { daysOfWeek: [weekday], availableStartTime: `${from}:00`, availableEndTime: `${to}:00` },
];

/** Opening hours on another day. */
export const never: HealthcareService['availableTime'] = [
  { daysOfWeek: [weekday === 'mon' ? 'wed' : 'mon'], availableStartTime: '09:00:00', availableEndTime: '10:00:00' },
];

/** A service with appointments of half an hour, one of its type alone. Its buffers are in minutes. */
export function aService(hours = open('09:00', '11:00'), interval = 30, { before = 0, after = 0 } = {}) {
  return create('HealthcareService', {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Visit',
    type: [{ coding: [{ system: 'urn:services', code: randomUUID() }] }],
    availableTime: hours,
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          minutes('duration', 30),
          minutes('alignmentInterval', interval),
          ...(before > 0 ? [minutes('bufferBefore', before)] : []),
          ...(after > 0 ? [minutes('bufferAfter', after)] : []),
          { url: 'timezone', valueCode: 'UTC' },
        ],
      },
    ],
  });
}

/** A Schedule of a practitioner of its own that offers a service. */
export async function aCalendar({ id, type }: HealthcareService, more: Partial<Schedule> = {}) {
  const practitioner = await create('Practitioner', { resourceType: 'Practitioner', name: [{ family: 'Lovelace' }] });
  const valueReference = { reference: `HealthcareService/${id}` };
  return create('Schedule', {
    resourceType: 'Schedule',
    active: true,
    actor: [{ reference: `Practitioner/${practitioner.id}` }],
    serviceType: [
      { ...type?.[0], extension: [{ url: 'https://medplum.com/fhir/service-type-reference', valueReference }] },
    ],
    planningHorizon: { start: date, end: date },
    ...more,
  });
}

/** A Slot that clinic staff or another system write. */
export function aSlot({ id }: Schedule, status: Slot['status'], from: string, to: string) {
  return create('Slot', {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${id}` },
    status,
    start: at(from),
    end: at(to),
  });
}

/** What is free in a calendar as stored, in order: `09:00-09:30`. */
export async function freeTimes({ id }: Schedule): Promise<string[]> {
  const slots = await stored('Slot', `schedule=Schedule/${id}&status=free&_sort=start`);
  return slots.map(({ start, end }) => `${start.slice(11, 16)}-${end.slice(11, 16)}`).sort();
}

/** Waits until exactly these times are free. */
export function untilFree(schedule: Schedule, times: readonly string[]): Promise<string[]> {
  return eventually(() => freeTimes(schedule), 30_000).is((found) => found.join() === times.join());
}

const proposalsShape = z.object({
  entry: z.array(z.object({ resource: z.looseObject({ start: z.string() }) })).optional(),
});

/** What Medplum's own `$find` proposes on the day, by the time at which it begins. */
export async function proposals({ id }: Schedule, service: HealthcareService) {
  const query = new URLSearchParams({
    start: at('00:00'),
    end: at('23:59'),
    'service-type-reference': `HealthcareService/${service.id}`,
    schedule: `Schedule/${id}`,
    _count: '100',
  });
  const { body } = await medplum('front-desk', 'GET', `/Appointment/$find?${query}`);
  const { entry = [] } = proposalsShape.parse(body);
  return new Map(entry.map(({ resource }) => [resource.start.slice(11, 16), resource]));
}

/** Carries out Medplum's own `$book` or `$hold` for a proposal of `$find`, as clinic staff. */
export const native = (operation: 'book' | 'hold', resource: unknown) =>
  medplum('front-desk', 'POST', `/Appointment/$${operation}`, {
    body: { resourceType: 'Parameters', parameter: [{ name: 'appointment', resource }] },
  });

const bookedShape = z.object({ entry: z.array(z.object({ resource: z.looseObject({ id: z.string() }) })) });

/** The id of the appointment that Medplum's own `$book` or `$hold` has made. */
export function idOfBooked({ status, body, text }: Answer): string {
  const [first] = status === 201 ? bookedShape.parse(body).entry : [];
  if (!first) {
    throw new Error(`Expected an appointment, but got ${status}: ${text.slice(0, 600)}`);
  }
  return first.resource.id;
}

/** Ends or confirms an appointment by Medplum's own operation, as clinic staff. */
export const nativeOn = (id: string, operation: 'cancel' | 'confirm') =>
  medplum('front-desk', 'POST', `/Appointment/${id}/$${operation}`, {
    body: { resourceType: 'Parameters', parameter: [] },
  });

/** An appointment of a patient as a portal proposes it on this day. */
export const proposedAt = (
  { type }: HealthcareService,
  patient: Patient,
  from: string,
  to: string,
  slots: readonly Slot[],
) => ({ ...proposed(patient, slots), serviceType: type, start: at(from), end: at(to) });
